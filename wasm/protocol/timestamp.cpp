#include "wasm/protocol/timestamp.h"

#include <array>

#include "wasm/protocol/decimal.h"

namespace roombox {

using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace {

void append_padded(std::string& out, unsigned value, std::size_t digits) {
  std::array<char, 10> text;
  for (std::size_t at = digits; at-- > 0; value /= 10) text[at] = static_cast<char>('0' + value % 10);
  out.append(text.data(), digits);
}

}  // namespace

std::string iso_8601(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<milliseconds>(time - day));
  std::string out;
  append_padded(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append_padded(out += '-', static_cast<unsigned>(date.month()), 2);
  append_padded(out += '-', static_cast<unsigned>(date.day()), 2);
  append_padded(out += 'T', static_cast<unsigned>(clock.hours().count()), 2);
  append_padded(out += ':', static_cast<unsigned>(clock.minutes().count()), 2);
  append_padded(out += ':', static_cast<unsigned>(clock.seconds().count()), 2);
  append_padded(out += '.', static_cast<unsigned>(clock.subseconds().count()), 3);
  return out += 'Z';
}

std::int64_t unix_ms(system_clock::time_point time) {
  return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

std::optional<milliseconds> parse_ms(std::string_view text) {
  constexpr std::uint64_t kLatest = 9'000'000'000'000;
  const auto value = parse_decimal(text);
  if (!value || *value > kLatest) return std::nullopt;
  return milliseconds(static_cast<milliseconds::rep>(*value));
}

std::optional<system_clock::time_point> parse_unix_ms(std::string_view text) {
  const auto time = parse_ms(text);
  return time ? std::optional(system_clock::time_point(*time)) : std::nullopt;
}

}  // namespace roombox
