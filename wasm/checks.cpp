#include "wasm/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "wasm/protocol/decimal.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/field_report.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/percent.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/protocol/utf8.h"
#include "wasm/room_id.h"
#include "wasm/router.h"

namespace roombox::edge {
namespace {

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

bool is_json(const Request& request) {
  return is_word(media_type(request.content_type.value_or("")), "application/json");
}

/// Whether a text is one or more visible characters of ASCII.
bool is_visible(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

/// Whether others can be shown a text as somebody's name, on a line.
bool is_presence_name(std::string_view text) {
  if (text.empty() || text.size() > limits::kPresenceName) return false;
  while (!text.empty()) {
    const auto [length, kind] = utf8::first_sequence(text);
    if (kind != utf8::Sequence::Kind::Valid) return false;
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_c1 = first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (first < ' ' || first == 0x7F || is_c1) return false;
    text.remove_prefix(length);
  }
  return true;
}

Error not_json() {
  return {ErrorCode::UnsupportedMediaType, std::string(messages::kNotJson)};
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

Error over(ErrorCode code, std::string_view message, std::size_t limit) {
  return {code, messages::fill(message, {std::to_string(limit)})};
}

Error too_large() {
  return over(ErrorCode::PayloadTooLarge, messages::kTooLarge, limits::kBody);
}

/// As the host counted them; it says so of every request.
std::uint64_t header_bytes(const Request& request) {
  return parse_decimal(request.header_bytes.value_or("")).value_or(0);
}

Error fault(std::string_view field, std::string_view message) {
  return invalid_request({{std::string(field), std::string(message)}});
}

/// A parameter of the query, percent-decoded once; none where it is absent. One that cannot be decoded is as
/// it came: no value of ours has a percent sign.
std::optional<std::string> decoded_parameter(const Request& request, std::string_view name) {
  const auto value = parameter(query_of(request.url), name);
  if (!value) return std::nullopt;
  return percent_decoded(*value).value_or(std::string(*value));
}

bool is_counted(std::string_view digits) {
  const auto number = parse_decimal(digits);
  return number && *number <= limits::kCursorMax;
}

bool is_cursor(std::string_view text, Cursor cursor) {
  if (cursor == Cursor::Sequence) return is_counted(text);
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || !is_counted(text.substr(0, point))) return false;
  const std::string_view sandbox = text.substr(point + 1);
  // Its percent signs, if it has any, are its own: it was decoded.
  return sandbox.starts_with(kSandboxPrefix) && sandbox.find('%') == std::string_view::npos &&
         parse_room_id(room_of(sandbox));
}

/// Every status as zod lists options.
std::string status_options() {
  std::string options;
  for (const Status status :
       {Status::Running, Status::Completed, Status::Timeout, Status::Cancelled, Status::Failed}) {
    if (!options.empty()) options += '|';
    options.append("\"").append(name(status)).append("\"");
  }
  return options;
}

}  // namespace

std::optional<Error> check_head_size(const Request& request) {
  if (request.url.size() > limits::kUrl) {
    return over(ErrorCode::UrlTooLong, messages::kUrlTooLong, limits::kUrl);
  }
  if (header_bytes(request) <= limits::kHeaders) return std::nullopt;
  return over(ErrorCode::HeadersTooLarge, messages::kHeadersTooLarge, limits::kHeaders);
}

std::optional<Error> check_relayed_size(const Request& request) {
  if (request.url.size() + header_bytes(request) <= limits::kRelayedHead) return std::nullopt;
  return over(ErrorCode::HeadersTooLarge, messages::kRelayedTooLarge, limits::kRelayedHead);
}

std::optional<Error> check_encoding(const Request& request) {
  const std::string_view encoding = request.content_encoding.value_or("");
  if (encoding.empty() || is_word(encoding, "identity")) return std::nullopt;
  return Error{ErrorCode::UnsupportedMediaType, std::string(messages::kEncoded)};
}

std::optional<Error> check_body_headers(const Request& request) {
  if (auto error = check_encoding(request)) return error;
  if (declares_too_much(request.content_length.value_or(""))) return too_large();
  return std::nullopt;
}

std::optional<Error> check_json_headers(const Request& request) {
  return is_json(request) ? check_body_headers(request) : not_json();
}

std::optional<Error> check_body_size(const Request& request) {
  const bool fits = request.body->size() <= limits::kBody;
  return fits ? std::nullopt : std::optional(too_large());
}

std::optional<Error> check_optional_json(const Request& request) {
  if (!request.body->empty() && !is_json(request)) return not_json();
  return check_body_size(request);
}

Result<std::optional<std::string>, Error> idempotency_key(const Request& request) {
  if (!request.idempotency_key) return std::optional<std::string>();
  const std::string_view key = *request.idempotency_key;
  if (key.size() > limits::kIdempotencyKey || !is_visible(key)) {
    return fault("Idempotency-Key", messages::kIdempotencyKey);
  }
  return std::optional<std::string>(key);
}

Result<std::optional<std::string>, Error> last_event_id(const Request& request) {
  const std::string_view id = request.last_event_id.value_or("");
  if (id.empty()) return std::optional<std::string>();  // as of a client that has seen none
  const auto number = parse_decimal(id);
  if (!number) return fault("Last-Event-ID", messages::kLastEventId);
  return std::optional(std::to_string(*number));
}

std::optional<Error> check_upgrade(const Request& request) {
  if (is_word(request.upgrade.value_or(""), "websocket")) return std::nullopt;
  return Error{ErrorCode::UpgradeRequired, std::string(messages::kUpgradeRequired)};
}

Result<std::string, Error> presence_name(const Request& request) {
  std::string text(parameter(query_of(request.url), "name").value_or(""));
  std::replace(text.begin(), text.end(), '+', ' ');
  auto name = percent_decoded(text);
  if (name && is_presence_name(*name)) return *std::move(name);
  return fault("name", messages::fill(messages::kPresenceName, {std::to_string(limits::kPresenceName)}));
}

Result<std::optional<std::string>, Error> after_sequence(const Request& request) {
  const auto after = decoded_parameter(request, "after");
  if (!after) return std::optional<std::string>();
  const auto number = parse_decimal(*after);
  if (!number) return fault("after", messages::kAfter);
  return std::optional(std::to_string(*number));
}

Result<Headers, Error> page_arguments(const Request& request, Cursor cursor, StatusFilter filter) {
  FieldReport report;
  Headers arguments;
  const auto limit = decoded_parameter(request, "limit").value_or(std::to_string(limits::kPageDefault));
  const auto count = parse_decimal(limit);
  if (!count || *count < 1 || *count > limits::kPageMax) {
    report.add("limit", messages::kLimit, {std::to_string(limits::kPageMax)});
  } else {
    arguments.emplace_back("limit", std::to_string(*count));
  }
  if (auto from = decoded_parameter(request, "cursor")) {
    if (!is_cursor(*from, cursor)) report.add("cursor", messages::kCursor);
    arguments.emplace_back("cursor", *std::move(from));
  }
  auto status = filter == StatusFilter::Allowed ? decoded_parameter(request, "status") : std::nullopt;
  if (status) {
    if (!status_named(*status)) report.add("status", messages::kStatus, {status_options()});
    arguments.emplace_back("status", *std::move(status));
  }
  if (!report.empty()) return invalid_request(report.take());
  return arguments;
}

Result<bool, Error> flag(const Request& request, std::string_view name) {
  const std::string value = decoded_parameter(request, name).value_or("false");
  if (value != "true" && value != "false") return fault(name, messages::kTrueOrFalse);
  return value == "true";
}

Result<std::optional<std::string>, Error> wait_ms(const Request& request) {
  const auto wait = decoded_parameter(request, kWaitParameter);
  if (!wait) return std::optional<std::string>();
  const auto number = parse_decimal(*wait);
  const auto most = static_cast<std::uint64_t>(limits::kPortWait.count());
  if (number && *number <= most) return std::optional(std::to_string(*number));
  return fault(kWaitParameter, messages::fill(messages::kWait, {std::to_string(most)}));
}

std::optional<Error> check_request_line(const Request& request) {
  if (is_visible(request.method) && is_visible(request.url)) return std::nullopt;
  return fault("url", messages::kUrl);
}

Result<bool, Error> wants_eof(const Request& request) {
  return flag(request, "eof");
}

}  // namespace roombox::edge
