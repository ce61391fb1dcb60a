#include "wasm/protocol/json_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "wasm/protocol/json_block.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

/// The powers of ten from which on numbers are one large one, or one small one, and below which they are 0.
constexpr std::int64_t kNumberPower = 30;
constexpr std::int64_t kLeastPower = -324;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool is_control(char byte) {
  return static_cast<std::uint8_t>(byte) < 0x20;
}

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// 0–15, or -1 for what is no hexadecimal digit.
int hex_value(char byte) {
  if (is_digit(byte)) return byte - '0';
  const int letter = (byte | 0x20) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

/// Units of UTF-16 that are a character only together, a high one first.
bool is_high_surrogate(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low_surrogate(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

/// How many bytes a text has before the first that does not stand for itself in a string.
std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  for (; text.size() - length >= kBlock; length += kBlock) {
    const std::size_t plain = scan_block(text.data() + length).plain;
    if (plain < kBlock) return length + plain;
  }
  std::array<char, kBlock> rest{};  // ended by a NUL, which does not stand for itself
  text.copy(rest.data(), kBlock, length);
  return length + scan_block(rest.data()).plain;
}

/// The power of ten of the first digit that is not 0; nothing if there is none. Precondition: the token is
/// written as JSON writes numbers.
std::optional<std::int64_t> power_of(std::string_view token) {
  constexpr std::int64_t kBeyond = 1'000'000'000;  // any body's digits
  const std::size_t exponent_at = token.find_first_of("eE");
  const std::string_view digits = token.substr(0, exponent_at);
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return std::nullopt;
  std::int64_t exponent = 0;
  bool is_negative = false;
  if (exponent_at != std::string_view::npos) {
    for (const char byte : token.substr(exponent_at + 1)) {
      is_negative |= byte == '-';
      if (is_digit(byte)) exponent = std::min(exponent * 10 + (byte - '0'), kBeyond);
    }
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const std::int64_t from_point = point - static_cast<std::int64_t>(first);
  return (from_point > 0 ? from_point - 1 : from_point) + (is_negative ? -exponent : exponent);
}

/// What a field can tell of a number: JsonValue::number. Exact conversion of large and of small ones takes
/// WebAssembly tens of microseconds each, and a body has room for many.
double number_of(std::string_view token) {
  constexpr std::size_t kInteger = 18;  // so many digits fit into 64 bits
  const bool is_negative = token.front() == '-';
  const std::string_view digits = token.substr(is_negative ? 1 : 0);
  if (digits.size() <= kInteger && std::all_of(digits.begin(), digits.end(), is_digit)) {
    std::int64_t value = 0;
    for (const char digit : digits) value = value * 10 + (digit - '0');
    return static_cast<double>(is_negative ? -value : value);
  }
  const auto power = power_of(token);
  if (!power || *power < kLeastPower) return 0;
  const double sign = is_negative ? -1 : 1;
  if (*power > std::numeric_limits<double>::max_exponent10) return sign * HUGE_VAL;
  if (*power >= kNumberPower) return sign * 1e30;
  if (*power < -kNumberPower) return sign * 1e-30;
  return std::strtod(std::string(token).c_str(), nullptr);  // of a copy, which ends where the token does
}

/// Reads token by token. Every step is false where the document ends to be JSON; `fault()` then says why.
class Reader {
 public:
  Reader(std::string_view text, JsonHandler& handler) : text_(text), handler_(handler) {}

  bool read();
  std::string&& fault() { return std::move(fault_); }

 private:
  /// What comes next.
  enum class Place { Value, FirstValue, Name, FirstName, Colon, More, End };

  bool at_end() const { return at_ == text_.size(); }

  // Steps over text.
  bool next();
  bool literal(std::string_view word);
  bool number();
  bool digits();
  bool string();
  void characters();
  bool misplaced();
  bool escape();
  std::optional<unsigned> escaped_unit();
  std::optional<unsigned> hex_unit(std::size_t escape);

  // Steps through the grammar.
  bool take();
  bool take_value();
  bool take_name();
  bool take_more();
  bool open(JsonKind kind, char close, Place inside);
  bool close();
  bool pass(const JsonValue& value);

  bool fail(std::size_t position, std::string_view reason);
  bool unexpected(std::size_t position);
  bool unexpected_token();

  std::string_view text_;
  JsonHandler& handler_;
  std::size_t at_ = 0;     ///< The next byte.
  std::size_t start_ = 0;  ///< The first byte of the token.
  char token_ = '\0';      ///< That byte, which says what token it is; NUL at the end of the text.
  std::string string_;     ///< What it stands for, if it is a string.
  Place place_ = Place::Value;
  std::array<char, limits::kJsonDepth> open_{};  ///< The brackets that are to come, the next one last.
  std::size_t depth_ = 0;                        ///< Of them.
  std::string fault_;
};

bool Reader::read() {
  if (text_.starts_with(kByteOrderMark.front()) && !literal(kByteOrderMark)) return false;
  do {
    if (!next() || !take()) return false;
  } while (token_ != '\0');
  return true;
}

bool Reader::next() {
  while (!at_end() && is_blank(text_[at_])) ++at_;
  start_ = at_;
  token_ = at_end() ? '\0' : text_[at_];
  if (at_end()) return true;
  switch (token_) {
    case '{':
    case '}':
    case '[':
    case ']':
    case ':':
    case ',':
      ++at_;
      return true;
    case '"':
      return string();
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    default:
      return is_digit(token_) || token_ == '-' ? number() : unexpected(at_);
  }
}

bool Reader::literal(std::string_view word) {
  for (const char byte : word) {
    if (at_end() || text_[at_] != byte) return unexpected(at_);
    ++at_;
  }
  return true;
}

bool Reader::number() {
  const auto skip = [this](std::string_view any) {
    const bool found = !at_end() && any.find(text_[at_]) != std::string_view::npos;
    at_ += found ? 1 : 0;
    return found;
  };
  skip("-");
  if (!skip("0") && !digits()) return false;
  if (skip(".") && !digits()) return false;
  if (!skip("eE")) return true;
  skip("+-");
  return digits();
}

/// One or more.
bool Reader::digits() {
  if (at_end() || !is_digit(text_[at_])) return unexpected(at_);
  while (!at_end() && is_digit(text_[at_])) ++at_;
  return true;
}

bool Reader::string() {
  string_.clear();
  ++at_;
  for (;;) {
    characters();
    if (at_end() || (text_[at_] != '"' && text_[at_] != '\\')) return misplaced();
    if (text_[at_] == '"') break;
    if (!escape()) return false;
  }
  ++at_;
  return true;
}

/// Those that stand for themselves, if any do.
void Reader::characters() {
  const std::size_t start = at_;
  for (std::size_t beyond = 1; beyond > 0; at_ += beyond) {
    at_ += plain_length(text_.substr(at_));
    beyond = utf8::beyond_ascii(text_.substr(at_));
  }
  string_.append(text_, start, at_ - start);
}

/// Of the byte there, or of the end, which no string has.
bool Reader::misplaced() {
  if (at_end()) return fail(start_, messages::kOpenString);
  if (is_control(text_[at_])) return fail(at_, messages::kControlCharacter);
  const bool is_cut = utf8::first_sequence(text_.substr(at_)).kind == utf8::Sequence::Kind::Incomplete;
  return is_cut ? fail(start_, messages::kOpenString) : fail(at_, messages::kBadUtf8);
}

/// One, or the two that make a character.
bool Reader::escape() {
  std::size_t start = at_;
  auto unit = escaped_unit();
  if (!unit) return false;
  if (is_high_surrogate(*unit)) {
    if (at_end()) return fail(start_, messages::kOpenString);
    if (text_[at_] != '\\') return fail(start, messages::kLoneSurrogate);
    start = at_;
    const auto low = escaped_unit();
    if (!low) return false;
    if (!is_low_surrogate(*low)) return fail(start, messages::kLoneSurrogate);
    unit = 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
  } else if (is_low_surrogate(*unit)) {
    return fail(start, messages::kLoneSurrogate);
  }
  utf8::append(string_, *unit);
  return true;
}

/// Of UTF-16: what one escape stands for.
std::optional<unsigned> Reader::escaped_unit() {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t start = at_++;
  if (at_end()) return fail(start_, messages::kOpenString), std::nullopt;
  const char byte = text_[at_++];
  if (byte == 'u') return hex_unit(start);
  const std::size_t known = kEscapes.find(byte);
  if (known == std::string_view::npos) return fail(start, messages::kBadEscape), std::nullopt;
  return static_cast<unsigned>(kMeanings[known]);
}

std::optional<unsigned> Reader::hex_unit(std::size_t escape) {
  unsigned unit = 0;
  for (const std::size_t end = at_ + 4; at_ < end; ++at_) {
    if (at_end()) return fail(start_, messages::kOpenString), std::nullopt;
    const int digit = hex_value(text_[at_]);
    if (digit < 0) return fail(escape, messages::kBadHex), std::nullopt;
    unit = unit << 4 | static_cast<unsigned>(digit);
  }
  return unit;
}

bool Reader::take() {
  switch (place_) {
    case Place::FirstValue:
      return token_ == ']' ? close() : take_value();
    case Place::Value:
      return take_value();
    case Place::FirstName:
      return token_ == '}' ? close() : take_name();
    case Place::Name:
      return take_name();
    case Place::Colon:
      place_ = Place::Value;
      return token_ == ':' || unexpected_token();
    case Place::More:
      return take_more();
    case Place::End:
      return token_ == '\0' || unexpected_token();
  }
  return false;
}

bool Reader::take_value() {
  switch (token_) {
    case '{':
      return open(JsonKind::Object, '}', Place::FirstName);
    case '[':
      return open(JsonKind::Array, ']', Place::FirstValue);
    case '"':
      return pass({JsonKind::String, 0, &string_});
    case 't':
    case 'f':
      return pass({JsonKind::Boolean, 0, nullptr, token_ == 't'});
    case 'n':
      return pass({JsonKind::Null});
    default:
      break;
  }
  if (!is_digit(token_) && token_ != '-') return unexpected_token();
  const double number = number_of(text_.substr(start_, at_ - start_));
  return std::isfinite(number) ? pass({JsonKind::Number, number}) : fail(start_, messages::kHugeNumber);
}

bool Reader::take_name() {
  if (token_ != '"') return unexpected_token();
  handler_.key(string_);
  place_ = Place::Colon;
  return true;
}

bool Reader::take_more() {
  const char bracket = open_[depth_ - 1];
  if (token_ == bracket) return close();
  place_ = bracket == '}' ? Place::Name : Place::Value;
  return token_ == ',' || unexpected_token();
}

bool Reader::open(JsonKind kind, char close, Place inside) {
  if (depth_ == open_.size()) {
    fault_ = messages::fill(messages::kTooDeep, {std::to_string(limits::kJsonDepth)});
    return false;
  }
  open_[depth_++] = close;
  place_ = inside;
  handler_.value({kind});
  return true;
}

bool Reader::close() {
  place_ = --depth_ == 0 ? Place::End : Place::More;
  handler_.close();
  return true;
}

bool Reader::pass(const JsonValue& value) {
  place_ = depth_ == 0 ? Place::End : Place::More;
  handler_.value(value);
  return true;
}

bool Reader::fail(std::size_t position, std::string_view reason) {
  fault_ = messages::fill(messages::kInvalidJson, {std::to_string(position), reason});
  return false;
}

/// Of the byte there, or of the end.
bool Reader::unexpected(std::size_t position) {
  if (text_.empty()) return fail(0, messages::kEmptyBody);
  if (position == text_.size()) return fail(position, messages::kUnexpectedEnd);
  const auto byte = static_cast<std::uint8_t>(text_[position]);
  if (byte > 0x20 && byte < 0x7F) {
    return fail(position, messages::fill(messages::kUnexpectedCharacter, {text_.substr(position, 1)}));
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  return fail(position, messages::fill(messages::kUnexpectedByte,
                                       {kHex.substr(byte >> 4, 1), kHex.substr(byte & 15, 1)}));
}

bool Reader::unexpected_token() {
  return token_ == '"' ? fail(start_, messages::kUnexpectedString) : unexpected(start_);
}

}  // namespace

std::string_view name(JsonKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null",   "boolean", "number",
                                                      "string", "array",   "object"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<std::string> read_json(std::string_view text, JsonHandler& handler) {
  Reader reader(text, handler);
  if (reader.read()) return std::nullopt;
  return reader.fault();
}

}  // namespace roombox
