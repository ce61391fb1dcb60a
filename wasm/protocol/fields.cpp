#include "wasm/protocol/fields.h"

#include <array>
#include <charconv>

#include "wasm/protocol/decimal.h"

namespace roombox {
namespace {

/// Bytes of a name, a blank, and the digits of a size: a line that is longer is none of ours.
constexpr std::size_t kLongestLine = 64;

}  // namespace

std::size_t field_size(std::string_view name, std::string_view value) {
  return name.size() + std::to_string(value.size()).size() + value.size() + 2;  // a blank, a newline
}

FieldWriter& FieldWriter::text(std::string_view name, std::string_view value) {
  out_.append(name).append(" ").append(std::to_string(value.size())).append("\n").append(value);
  return *this;
}

FieldWriter& FieldWriter::number(std::string_view name, std::int64_t value) {
  std::array<char, 20> digits;  // of the most negative: a sign and 19 digits
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return text(name, {digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

std::optional<Field> FieldReader::next() {
  if (rest_.empty() || damaged_) return std::nullopt;
  damaged_ = true;  // unless all of it is there
  const std::string_view line = rest_.substr(0, rest_.substr(0, kLongestLine).find('\n'));
  const std::size_t blank = line.find(' ');
  if (line.size() >= rest_.size() || line.size() >= kLongestLine || blank == std::string_view::npos) {
    return std::nullopt;
  }
  const auto size = parse_decimal(line.substr(blank + 1));
  const std::string_view after = rest_.substr(line.size() + 1);
  if (!size || *size > after.size()) return std::nullopt;
  damaged_ = false;
  rest_ = after.substr(static_cast<std::size_t>(*size));
  return Field{line.substr(0, blank), after.substr(0, static_cast<std::size_t>(*size))};
}

}  // namespace roombox
