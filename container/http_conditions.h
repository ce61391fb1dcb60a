#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// Dates, ranges and conditions of RFC 9110.
namespace roombox {

/// A time as HTTP has it: Sun, 06 Nov 1994 08:49:37 GMT.
std::string http_date(std::chrono::system_clock::time_point time);

/// Whether an If-Match or If-None-Match names a tag, or is `*`.
/// @param tag empty where there is no file
enum class Comparison { Strong, Weak };
bool names_tag(std::string_view field, std::string_view tag, Comparison comparison);

/// The conditions that a change is bound to; empty where it is bound to none.
struct Preconditions {
  std::string if_match;
  std::string if_none_match;

  /// @param tag empty where there is no file
  bool hold(std::string_view tag) const;
};

/// A part of a body.
struct Range {
  std::uint64_t first;
  std::uint64_t size;
};
struct Unsatisfiable {};

/// What a Range asks for of a body of that size: one part of it, none that there is, or, as where there is no
/// such header, or one of several parts or that we do not understand, the whole.
std::variant<std::monostate, Range, Unsatisfiable> requested_range(std::string_view field,
                                                                   std::uint64_t size);

}  // namespace roombox
