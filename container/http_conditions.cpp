#include "container/http_conditions.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "container/sys/parse.h"
#include "wasm/protocol/text.h"

namespace roombox {
namespace {

constexpr std::string_view kWeak = "W/";

/// A number of a range: digits alone. One that is too large for us is beyond every file.
std::optional<std::uint64_t> position(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  return sys::parse<std::uint64_t>(digits).value_or(UINT64_MAX);
}

}  // namespace

std::string http_date(std::chrono::system_clock::time_point time) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays.at(utc.tm_wday),
                utc.tm_mday, kMonths.at(utc.tm_mon), utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return text.data();
}

bool names_tag(std::string_view field, std::string_view tag, Comparison comparison) {
  if (tag.empty()) return false;
  if (without_blanks(field) == "*") return true;
  while (!field.empty()) {  // tags of ours have no comma in them
    std::string_view named = without_blanks(take_until(field, ','));
    if (comparison == Comparison::Weak && named.starts_with(kWeak)) named.remove_prefix(kWeak.size());
    if (named == tag) return true;
  }
  return false;
}

bool Preconditions::hold(std::string_view tag) const {
  if (!if_match.empty() && !names_tag(if_match, tag, Comparison::Strong)) return false;
  return if_none_match.empty() || !names_tag(if_none_match, tag, Comparison::Weak);
}

std::variant<std::monostate, Range, Unsatisfiable> requested_range(std::string_view field,
                                                                   std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!field.starts_with(kUnit)) return {};
  field = without_blanks(field.substr(kUnit.size()));
  const auto dash = field.find('-');
  if (dash == field.npos) return {};
  const auto last = position(field.substr(dash + 1));
  if (dash == 0) {  // so many at the end
    if (!last) return {};
    if (*last == 0 || size == 0) return Unsatisfiable{};
    const auto length = std::min(*last, size);
    return Range{size - length, length};
  }
  const auto first = position(field.substr(0, dash));
  if (!first || (!last && dash + 1 < field.size()) || (last && *last < *first)) return {};
  if (*first >= size) return Unsatisfiable{};
  return Range{*first, last && *last < size ? *last - *first + 1 : size - *first};
}

}  // namespace roombox
