#include "container/relayed_head.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "container/sys/parse.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/text.h"

namespace roombox {
namespace {

/// Digits of a length that every reader can count with.
constexpr std::size_t kLengthDigits = 15;

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return lower;
}

/// The members of all headers of a name, which are lists, in lower case.
std::unordered_set<std::string> members(const HttpHeaders& headers, std::string_view wanted) {
  std::unordered_set<std::string> found;
  for (auto [name, list] : headers) {
    if (lowered(name) != wanted) continue;
    while (!list.empty()) found.insert(lowered(without_blanks(take_until(list, ','))));
  }
  return found;
}

/// Whether a header, its name in lower case, is the message's and not of its connection or between ourselves.
bool is_passed_on(const std::string& name, const std::unordered_set<std::string>& of_connection) {
  static const std::string kOwn = lowered(agent_api::kOwnHeaders);
  // `Close` would be of the connection by the `Connection: close` that is said here: its name is reserved for
  // that (RFC 9112, 9.6).
  static const std::unordered_set<std::string> kNever = {"close", "connection", "keep-alive", "te",
                                                         "upgrade"};
  static const std::unordered_set<std::string> kFraming = {"content-length", "transfer-encoding"};
  if (kFraming.contains(name)) return true;  // the body comes as it is
  return !kNever.contains(name) && !of_connection.contains(name) && !name.starts_with("proxy-") &&
         !name.starts_with(kOwn);
}

/// Whether an answer's header, its name in lower case, would speak for the whole origin, which is the API's:
/// what pages of others may do there is the edge's to say.
bool is_of_origin(std::string_view name) {
  static constexpr std::string_view kCors = "access-control-";  // and all that the Fetch standard may add
  static constexpr std::array<std::string_view, 2> kNames = {"clear-site-data", "service-worker-allowed"};
  return name.starts_with(kCors) || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void append_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

void append_end(std::string& head, Protocol protocol) {
  if (protocol == Protocol::WebSocket) {
    append_header(head, "Connection", "Upgrade");
    append_header(head, "Upgrade", "websocket");
  } else {
    append_header(head, "Connection", "close");
  }
  head += "\r\n";
}

/// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           kMarks.find(byte) != kMarks.npos;
  });
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return (code < ' ' && byte != '\t') || code == 0x7f;
  });
}

/// Takes the first line off, without its end, which may lack the carriage return (RFC 9112, 2.2).
std::string_view take_line(std::string_view& bytes) {
  auto line = take_until(bytes, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The status of a line such as `HTTP/1.1 200 OK`, whose last word may be missing.
std::optional<unsigned> status_of(std::string_view line) {
  constexpr std::string_view kPrefix = "HTTP/1.";
  constexpr std::size_t kStatus = kPrefix.size() + 2, kEnd = kStatus + 3;
  if (!line.starts_with(kPrefix) || line.size() < kEnd || has_controls(line)) return std::nullopt;
  if ((line[kPrefix.size()] != '0' && line[kPrefix.size()] != '1') || line[kStatus - 1] != ' ')
    return std::nullopt;
  if (line.size() > kEnd && line[kEnd] != ' ') return std::nullopt;
  const auto status = sys::parse<unsigned>(line.substr(kStatus, kEnd - kStatus));
  return status && *status >= 100 && *status < 600 ? status : std::nullopt;
}

/// Whether all who read it find the body's end at the same place (RFC 9112, 6.3): one length in digits, or
/// chunks.
bool has_clear_framing(const HttpHeaders& headers) {
  std::size_t lengths = 0, codings = 0;
  for (const auto& [name, value] : headers) {
    const auto lower = lowered(name);
    if (lower == "content-length") {
      const bool digits =
          std::all_of(value.begin(), value.end(), [](char byte) { return byte >= '0' && byte <= '9'; });
      if (value.empty() || value.size() > kLengthDigits || !digits) return false;
      ++lengths;
    }
    if (lower == "transfer-encoding") {
      if (lowered(value) != "chunked") return false;
      ++codings;
    }
  }
  return lengths + codings <= 1;
}

}  // namespace

Protocol protocol_of(const HttpHeaders& headers) {
  const bool is_upgrade =
      members(headers, "connection").contains("upgrade") && members(headers, "upgrade").contains("websocket");
  return is_upgrade ? Protocol::WebSocket : Protocol::Http;
}

std::string relayed_request(std::string_view method, const RelayTarget& target, const Handover& from,
                            Protocol protocol) {
  const auto of_connection = members(from.headers, "connection");
  std::string head(method);
  head.append(" ").append(target.path).append(from.version == 10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  append_header(head, "Host", "localhost:" + std::to_string(target.port));
  for (const auto& [name, value] : from.headers) {
    const auto lower = lowered(name);
    // No Expect: what a server says to it, the 1xx, does not get back to the client.
    if (lower != "host" && lower != "expect" && is_passed_on(lower, of_connection))
      append_header(head, name, value);
  }
  append_end(head, protocol);
  return head;
}

std::size_t response_head_size(std::string_view bytes) {
  for (auto end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n', end + 1)) {
    const auto next = bytes.substr(end + 1);
    if (next.starts_with("\n")) return end + 2;
    if (next.starts_with("\r\n")) return end + 3;
  }
  return 0;
}

std::optional<ResponseHead> parse_response_head(std::string_view bytes) {
  const auto line = take_line(bytes);
  const auto status = status_of(line);
  if (!status) return std::nullopt;
  ResponseHead head{*status, line, {}};
  for (auto field = take_line(bytes); !field.empty(); field = take_line(bytes)) {
    const auto colon = field.find(':');
    if (colon == field.npos) return std::nullopt;
    const auto name = field.substr(0, colon), value = without_blanks(field.substr(colon + 1));
    if (!is_token(name) || has_controls(value)) return std::nullopt;
    head.headers.emplace_back(name, value);
  }
  if (!has_clear_framing(head.headers)) return std::nullopt;
  return head;
}

std::string relayed_response(const ResponseHead& head, Protocol protocol) {
  const auto of_connection = members(head.headers, "connection");
  std::string text(head.line);
  text += "\r\n";
  for (const auto& [name, value] : head.headers) {
    const auto lower = lowered(name);
    if (is_passed_on(lower, of_connection) && !is_of_origin(lower)) append_header(text, name, value);
  }
  append_end(text, protocol);
  return text;
}

bool has_framed_body(const ResponseHead& head) {
  return std::any_of(head.headers.begin(), head.headers.end(), [](const auto& header) {
    const auto name = lowered(header.first);
    return name == "content-length" || name == "transfer-encoding";
  });
}

}  // namespace roombox
