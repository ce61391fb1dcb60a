#include "wasm/edge.h"

#include <optional>
#include <string>

#include "wasm/answer.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/room_id.h"
#include "wasm/router.h"
#include "wasm/routes.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kRooms = "/api/rooms";
constexpr std::string_view kGet = "GET";
constexpr std::string_view kGetAndHead = "GET, HEAD";

/// `item` at the end of a list as English writes it.
void append_listed(std::string& list, std::string_view item, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += item;
}

Answer not_found() {
  std::string calls;
  for (const Route& route : routes()) {
    append_listed(calls, route.method, ", ");
    calls.append(" ").append(route.pattern);
  }
  return error_answer(ErrorCode::NotFound, messages::fill(messages::kNotFound, {calls}));
}

/// Precondition: some route has the pattern.
Answer method_not_allowed(std::string_view pattern) {
  std::string allow;
  std::string spoken;
  for (const Route& route : routes()) {
    if (route.pattern != pattern) continue;
    append_listed(allow, route.method == kGet ? kGetAndHead : route.method, ", ");
    append_listed(spoken, route.method, " and ");
  }
  const bool one = spoken.find(' ') == std::string::npos;
  spoken += one ? " is" : " are";
  Answer answer =
      error_answer(ErrorCode::MethodNotAllowed, messages::fill(messages::kMethodNotAllowed, {spoken}));
  answer.headers.emplace_back("Allow", std::move(allow));
  return answer;
}

struct Place {
  std::string_view pattern;
  std::string_view room;  ///< As in the path, still encoded.
};

std::optional<Place> find_place(std::string_view path) {
  for (const Route& route : routes()) {
    if (const auto found = match(route.pattern, path)) return Place{route.pattern, found->room};
  }
  return std::nullopt;
}

/// HEAD is asked for with what answers GET; the host sends no body then.
const Route* find_route(std::string_view pattern, std::string_view method) {
  if (method == "HEAD") method = kGet;
  for (const Route& route : routes()) {
    if (route.pattern == pattern && route.method == method) return &route;
  }
  return nullptr;
}

}  // namespace

Decision decide(const Request& request) {
  const std::string_view path = path_of(request.url);
  const auto place = find_place(path);
  const bool room_missing = place && has_room(place->pattern) && place->room.empty();
  if (room_missing || path == kRooms) return error_answer(ErrorCode::NotFound, messages::kRoomRequired);
  if (!place) return not_found();
  const Route* const route = find_route(place->pattern, request.method);
  if (route == nullptr) return method_not_allowed(place->pattern);
  if (!has_room(place->pattern)) return route->decide(request, {});
  const auto room = parse_room_id(place->room);
  if (!room) return error_answer(invalid_request({{"roomID", std::string(messages::kRoomId)}}));
  return route->decide(request, *room);
}

std::string sandbox_of(const Request& request) {
  const auto place = find_place(path_of(request.url));
  const auto room = place ? parse_room_id(place->room) : std::nullopt;
  return room ? sandbox_name(*room) : std::string();
}

}  // namespace roombox::edge
