#include "wasm/edge.h"

#include <array>
#include <optional>
#include <string>

#include "wasm/access.h"
#include "wasm/answer.h"
#include "wasm/checks.h"
#include "wasm/execution_id.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/room_id.h"
#include "wasm/router.h"
#include "wasm/routes.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kGet = "GET";
constexpr std::string_view kGetAndHead = "GET, HEAD";
struct Home {
  std::string_view path;
  Dialect dialect;
};
constexpr std::array<Home, 2> kHomes = {{{"/v1", Dialect::V1}, {"/api/sandboxes", Dialect::Sdk}}};

/// What the calls are about whose patterns have a part; all others are about rooms.
struct Topic {
  std::string_view part;
  Subject::Matter matter;
};
constexpr std::array<Topic, 4> kTopics = {{{"/exec", Subject::Matter::Commands},
                                           {"/pty", Subject::Matter::Commands},
                                           {"/files", Subject::Matter::Files},
                                           {"/ports", Subject::Matter::Ports}}};

/// Whose errors a path gets, a known one or not.
Dialect dialect_of(std::string_view path) {
  for (const Home& home : kHomes) {
    if (!path.starts_with(home.path)) continue;
    const std::string_view rest = path.substr(home.path.size());
    if (rest.empty() || rest.starts_with('/')) return home.dialect;
  }
  return Dialect::Rooms;
}

/// `item` at the end of a list as English writes it.
void append_listed(std::string& list, std::string_view item, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += item;
}

Answer not_found(Dialect dialect) {
  std::string example;
  for (const Route& route : routes()) {
    if (route.dialect == dialect && route.pattern.ends_with("/exec")) {
      example.append(route.method).append(" ").append(route.pattern);
      break;
    }
  }
  return error_answer(ErrorCode::NotFound, messages::fill(messages::kNotFound, {example}), dialect);
}

bool has_head(const Route& route) {
  return route.method == kGet && route.reply == Route::Reply::Whole;
}

/// The methods of a path, as headers list them. Where it takes any, that is the one asked for.
std::string methods_at(std::string_view pattern, std::string_view asked) {
  std::string methods;
  for (const Route& route : routes()) {
    if (route.pattern != pattern) continue;
    const bool any = route.method == kAnyMethod;
    append_listed(methods, any ? asked : has_head(route) ? kGetAndHead : route.method, ", ");
  }
  return methods;
}

/// Precondition: some route has the pattern.
Answer method_not_allowed(std::string_view pattern, Dialect dialect) {
  std::string spoken;
  for (const Route& route : routes()) {
    if (route.pattern == pattern) append_listed(spoken, route.method, " and ");
  }
  const bool one = spoken.find(' ') == std::string::npos;
  spoken += one ? " is" : " are";
  Answer answer = error_answer(ErrorCode::MethodNotAllowed,
                               messages::fill(messages::kMethodNotAllowed, {spoken}), dialect);
  answer.headers.emplace_back("Allow", methods_at(pattern, {}));
  return answer;
}

Answer room_required(Dialect dialect) {
  const bool rooms = dialect == Dialect::Rooms;
  return error_answer(ErrorCode::NotFound, rooms ? messages::kRoomRequired : messages::kSandboxRequired,
                      dialect);
}

Answer invalid_room(Dialect dialect) {
  const FieldError fault = dialect == Dialect::Rooms ? FieldError{"roomID", std::string(messages::kRoomId)}
                                                     : FieldError{"id", std::string(messages::kSandboxId)};
  return error_answer(invalid_request({fault}), dialect);
}

struct Place {
  std::string_view pattern;
  PathMatch path;
};

std::optional<Place> find_place(std::string_view path) {
  const std::ptrdiff_t depth = depth_of(path);
  for (const Route& route : routes()) {
    if (route.depth != depth && !takes_rest(route.pattern)) continue;
    if (const auto found = match(route.pattern, path)) return Place{route.pattern, *found};
  }
  return std::nullopt;
}

/// HEAD is asked for with what answers GET; the host sends no body then.
bool takes(const Route& route, std::string_view method) {
  if (route.method == kAnyMethod) return true;
  return method == "HEAD" ? has_head(route) : route.method == method;
}

const Route* find_route(std::string_view pattern, std::string_view method) {
  for (const Route& route : routes()) {
    if (route.pattern == pattern && takes(route, method)) return &route;
  }
  return nullptr;
}

Subject::Matter matter_of(std::string_view pattern) {
  for (const Topic& topic : kTopics) {
    if (pattern.find(topic.part) != std::string_view::npos) return topic.matter;
  }
  return Subject::Matter::Rooms;
}

/// The names are empty where the pattern has none, or the path no valid one.
Subject subject_at(const Place& place, Dialect dialect) {
  const auto room = place.path.room ? parse_room_id(*place.path.room) : std::nullopt;
  const auto execution = place.path.execution ? parse_execution_id(*place.path.execution) : std::nullopt;
  return {dialect, room ? sandbox_name(*room) : std::string(), execution.value_or(""),
          matter_of(place.pattern), place.pattern};
}

}  // namespace

/// A browser asks before it sends what a page may not send by itself.
Answer answer_preflight(const Request& request, std::string_view pattern) {
  Answer answer{204, {{"Access-Control-Allow-Methods", methods_at(pattern, *request.preflight_method)}}, {}};
  if (request.preflight_headers) {
    answer.headers.emplace_back("Access-Control-Allow-Headers", *request.preflight_headers);
  }
  answer.headers.emplace_back("Access-Control-Max-Age", "7200");
  return answer;
}

Answer refused(const Error& error, Dialect dialect) {
  Answer answer = error_answer(error, dialect);
  if (error.code == ErrorCode::Unauthorized) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Decision decided(const Request& request, Subject& subject) {
  const std::string_view path = path_of(request.url);
  const Dialect dialect = dialect_of(path);
  if (auto error = check_head_size(request)) return refused(*error, dialect);
  const auto place = find_place(path);
  if (place) subject = subject_at(*place, dialect);
  if (auto error = check_origin(request)) return refused(*error, dialect);
  if (!place) return not_found(dialect);
  if (is_preflight(request)) return answer_preflight(request, place->pattern);
  if (place->path.room && place->path.room->empty()) return room_required(dialect);
  const Route* const route = find_route(place->pattern, request.method);
  if (route == nullptr) return method_not_allowed(place->pattern, dialect);
  const std::string_view room =
      subject.sandbox.empty() ? place->path.room.value_or("") : room_of(subject.sandbox);
  if (auto error = check_access(request, route->scope, room)) return refused(*error, dialect);
  if (place->path.room && subject.sandbox.empty()) return invalid_room(dialect);
  if (place->path.execution && subject.execution.empty()) {
    return error_answer(no_execution(*place->path.execution), dialect);
  }
  return route->decide({request, subject, place->path.port, place->path.rest});
}

Decision decide(const Request& request, Subject& subject) {
  Decision decision = decided(request, subject);
  Headers cors = cors_headers(request);
  if (auto* const answer = std::get_if<Answer>(&decision)) append(answer->headers, std::move(cors));
  if (auto* const forward = std::get_if<Forward>(&decision)) forward->reply_headers = std::move(cors);
  return decision;
}

Decision decide(const Request& request) {
  Subject subject;
  return decide(request, subject);
}

Subject subject_of(const Request& request) {
  const std::string_view path = path_of(request.url);
  const auto place = find_place(path);
  if (place) return subject_at(*place, dialect_of(path));
  Subject subject;
  subject.dialect = dialect_of(path);
  return subject;
}

}  // namespace roombox::edge
