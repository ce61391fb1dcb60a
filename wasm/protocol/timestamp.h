#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roombox {

/// A time as JavaScript's Date prints it, in UTC with milliseconds: 2026-11-29T15:39:01.250Z.
std::string iso_8601(std::chrono::system_clock::time_point time);

/// Unix time in milliseconds.
std::int64_t unix_ms(std::chrono::system_clock::time_point time);

/// The length of time that a decimal number of milliseconds tells; none if it is no such number, or so large
/// that as Unix time it lies beyond the year 2255, up to which every clock counts, in nanoseconds too.
std::optional<std::chrono::milliseconds> parse_ms(std::string_view text);

/// The time that a decimal number tells as Unix time in milliseconds; none as above.
std::optional<std::chrono::system_clock::time_point> parse_unix_ms(std::string_view text);

}  // namespace roombox
