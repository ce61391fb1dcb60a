#include "wasm/routes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "wasm/answer.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/room_id.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kJson = "application/json";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Compares with a text that is in lower case, whatever the case of the first.
bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char left, char right) { return lower(left) == right; });
}

/// The media type of a Content-Type, without its parameters and the blanks around it.
std::string_view media_type(std::string_view content_type) {
  constexpr std::string_view kBlank = " \t";
  std::string_view type = content_type.substr(0, content_type.find(';'));
  type.remove_prefix(std::min(type.find_first_not_of(kBlank), type.size()));
  return type.substr(0, type.find_last_not_of(kBlank) + 1);
}

/// Whether a Content-Length says more than a body may have. One that is no number says nothing: the body is
/// read with a bound in any case.
bool declares_too_much(std::string_view content_length) {
  std::uint64_t length = 0;
  const char* const end = content_length.data() + content_length.size();
  const auto read = std::from_chars(content_length.data(), end, length);
  if (read.ptr != end) return false;
  return read.ec == std::errc::result_out_of_range || (read.ec == std::errc() && length > limits::kBody);
}

Answer too_large() {
  return error_answer(ErrorCode::PayloadTooLarge,
                      messages::fill(messages::kTooLarge, {std::to_string(limits::kBody)}));
}

/// What is wrong with a request that must bring JSON, as far as its headers tell.
std::optional<Answer> refuse_headers(const Request& request) {
  if (!is_word(media_type(request.content_type), kJson)) {
    return error_answer(ErrorCode::UnsupportedMediaType, messages::kNotJson);
  }
  if (!request.content_encoding.empty() && !is_word(request.content_encoding, "identity")) {
    return error_answer(ErrorCode::UnsupportedMediaType, messages::kEncoded);
  }
  if (declares_too_much(request.content_length)) return too_large();
  return std::nullopt;
}

Decision health(const Request&, const std::string&) {
  return answer(200, "text/plain", "ok");
}

Decision exec(const Request& request, const std::string& room) {
  if (auto refusal = refuse_headers(request)) return *std::move(refusal);
  if (!request.body) return ReadBody{limits::kBody};
  if (request.body->size() > limits::kBody) return too_large();
  auto parsed = parse_exec_request(*request.body, Dialect::Rooms);
  if (!parsed) return error_answer(invalid_request(std::move(parsed.error())));
  std::string sandbox = sandbox_name(room);
  Headers headers = {{std::string(agent_api::kSandboxHeader), sandbox},
                     {std::string(agent_api::kDialectHeader), std::string(name(Dialect::Rooms))},
                     {"Content-Type", std::string(kJson)}};
  return Forward{std::move(sandbox), "POST", std::string(agent_api::kExecutions), std::move(headers)};
}

Decision destroy(const Request&, const std::string& room) {
  return Destroy{sandbox_name(room)};
}

constexpr std::array<Route, 3> kRoutes = {{
    {"GET", "/health", health},
    {"POST", "/api/rooms/{roomID}/sandbox/exec", exec},
    {"DELETE", "/api/rooms/{roomID}", destroy},
}};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace roombox::edge
