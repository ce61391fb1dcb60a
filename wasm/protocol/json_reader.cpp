#include "wasm/protocol/json_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// Walks over the bytes for the parser, which takes NUL for the end of its input and would accept what
/// follows it unread: so NUL is shown as another control character, which is nowhere allowed either.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit ByteIterator(const char* at) : at_(at) {}
  char operator*() const { return *at_ == '\0' ? '\x01' : *at_; }
  ByteIterator& operator++() {
    ++at_;
    return *this;
  }
  ByteIterator operator++(int) { return ByteIterator(at_++); }
  bool operator==(const ByteIterator& other) const { return at_ == other.at_; }
  bool operator!=(const ByteIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
};

/// The parser's events, passed on to a handler as long as the document is within bounds.
class Events {
 public:
  enum class Fault { None, Syntax, Range, Depth };

  explicit Events(JsonHandler& handler) : handler_(handler) {}

  Fault fault() const { return fault_; }
  /// Of the last byte that the parser read when it met the fault.
  std::size_t position() const { return position_; }

  // What nlohmann::json calls; a `false` ends the parse.
  bool null() { return pass({JsonKind::Null}); }
  bool boolean(bool value) { return pass({JsonKind::Boolean, 0, nullptr, value}); }
  bool number_integer(std::int64_t value) { return pass({JsonKind::Number, static_cast<double>(value)}); }
  bool number_unsigned(std::uint64_t value) { return pass({JsonKind::Number, static_cast<double>(value)}); }
  bool number_float(double value, const std::string&) { return pass({JsonKind::Number, value}); }
  bool string(std::string& value) { return pass({JsonKind::String, 0, &value}); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON
  bool start_object(std::size_t) { return open(JsonKind::Object); }
  bool start_array(std::size_t) { return open(JsonKind::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    handler_.key(name);
    return true;
  }
  bool parse_error(std::size_t bytes_read, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int kOutOfRange = 406;
    fault_ = error.id == kOutOfRange ? Fault::Range : Fault::Syntax;
    position_ = bytes_read == 0 ? 0 : bytes_read - 1;
    return false;
  }

 private:
  bool pass(const JsonValue& value) {
    handler_.value(value);
    return true;
  }
  bool open(JsonKind kind) {
    if (++depth_ > limits::kJsonDepth) {
      fault_ = Fault::Depth;
      return false;
    }
    return pass({kind});
  }
  bool close() {
    --depth_;
    handler_.close();
    return true;
  }

  JsonHandler& handler_;
  std::size_t depth_ = 0;
  Fault fault_ = Fault::None;
  std::size_t position_ = 0;
};

/// How a position lies to the strings of a document.
struct StringContext {
  std::size_t start = kNone;   ///< The opening quote of the string that the position is in.
  std::size_t escape = kNone;  ///< The last escape that began in it before the position.
};

/// Precondition: up to `at`, strings are well-formed. Walks over what was read before, so for errors only.
StringContext string_context(std::string_view text, std::size_t at) {
  StringContext context;
  for (std::size_t index = 0; index < at; ++index) {
    if (text[index] == '"') {
      context = {context.start == kNone ? index : kNone, kNone};
    } else if (text[index] == '\\' && context.start != kNone) {
      context.escape = index;
      index += text.substr(index + 1, 1) == "u" ? 5 : 1;
    }
  }
  return context;
}

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

bool is_hex(char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/// Whether the escape is `\uD800` to `\uDFFF`.
bool is_surrogate(std::string_view text, std::size_t escape) {
  const std::string_view digits = text.substr(escape).substr(0, 4);
  return digits.size() == 4 && digits[1] == 'u' && (digits[2] | 0x20) == 'd' && digits[3] >= '8';
}

struct Fault {
  std::size_t position;
  std::string reason;
};

/// A fault at `at`, in or directly behind an escape; no reason if the escape is not at fault.
Fault escape_fault(std::string_view text, std::size_t at, std::size_t escape) {
  const std::size_t offset = at - escape;
  const bool unicode = text.substr(escape + 1, 1) == "u";
  if (unicode && offset >= 2 && offset <= 5 && !is_hex(text[at])) {
    return {escape, std::string(messages::kBadHex)};
  }
  // A low half alone is refused at its last digit, a high one at the byte after it, or anywhere in the escape
  // after it that is not its low half.
  if (unicode && (offset == 5 || (offset == 6 && is_surrogate(text, escape)))) {
    return {escape, std::string(messages::kLoneSurrogate)};
  }
  if (offset == 1) {
    constexpr std::string_view kEscapes = "\"\\/bfnrtu";
    const bool known = kEscapes.find(text[at]) != kNone;
    return {escape, std::string(known ? messages::kLoneSurrogate : messages::kBadEscape)};
  }
  return {at, {}};
}

Fault string_fault(std::string_view text, std::size_t at, const StringContext& context) {
  if (at >= text.size()) return {context.start, std::string(messages::kOpenString)};
  if (context.escape != kNone) {
    Fault fault = escape_fault(text, at, context.escape);
    if (!fault.reason.empty()) return fault;
  }
  const std::size_t cut = utf8::incomplete_tail(text.substr(context.start, at - context.start));
  if (cut > 0) return {at - cut, std::string(messages::kBadUtf8)};
  if (text[at] == '"') return {context.start, std::string(messages::kUnexpectedString)};
  const bool control = static_cast<std::uint8_t>(text[at]) < 0x20;
  return {at, std::string(control ? messages::kControlCharacter : messages::kBadUtf8)};
}

/// The start of the number or literal that ends at `at`; the parser reads to its end before it refuses it.
std::size_t token_start(std::string_view text, std::size_t at) {
  constexpr std::string_view kNumber = "0123456789+-.eE";
  constexpr std::array<std::string_view, 3> kLiterals = {"true", "false", "null"};
  const std::string_view read = text.substr(0, at + 1);
  for (std::string_view literal : kLiterals) {
    if (read.ends_with(literal)) return read.size() - literal.size();
  }
  if (!is_digit(text[at])) return at;
  std::size_t start = at;
  while (start > 0 && kNumber.find(text[start - 1]) != kNone) --start;
  const std::size_t zero = text[start] == '-' ? start + 1 : start;
  const bool stops_at_zero = text[zero] == '0' && zero < at && is_digit(text[zero + 1]);
  return stops_at_zero ? zero + 1 : start;  // 012 is 0 and, unexpectedly, 12
}

Fault token_fault(std::string_view text, std::size_t at) {
  if (text.empty()) return {0, std::string(messages::kEmptyBody)};
  if (at >= text.size()) return {text.size(), std::string(messages::kUnexpectedEnd)};
  at = token_start(text, at);
  const auto byte = static_cast<std::uint8_t>(text[at]);
  if (byte > 0x20 && byte < 0x7F) {
    return {at, messages::fill(messages::kUnexpectedCharacter, {text.substr(at, 1)})};
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  return {at,
          messages::fill(messages::kUnexpectedByte, {kHex.substr(byte >> 4, 1), kHex.substr(byte & 15, 1)})};
}

Fault find_fault(std::string_view text, const Events& events) {
  const std::size_t at = events.position();
  if (events.fault() == Events::Fault::Range) {
    return {token_start(text, std::min(at, text.size() - 1)), std::string(messages::kHugeNumber)};
  }
  const StringContext context = string_context(text, std::min(at, text.size()));
  return context.start == kNone ? token_fault(text, at) : string_fault(text, at, context);
}

}  // namespace

std::string_view name(JsonKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null",   "boolean", "number",
                                                      "string", "array",   "object"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<std::string> read_json(std::string_view text, JsonHandler& handler) {
  Events events(handler);
  const ByteIterator begin(text.data());
  const ByteIterator end(text.data() + text.size());
  if (nlohmann::json::sax_parse(begin, end, &events)) return std::nullopt;
  if (events.fault() == Events::Fault::Depth) {
    return messages::fill(messages::kTooDeep, {std::to_string(limits::kJsonDepth)});
  }
  const Fault fault = find_fault(text, events);
  return messages::fill(messages::kInvalidJson, {std::to_string(fault.position), fault.reason});
}

}  // namespace roombox
