#pragma once

#include <algorithm>
#include <string_view>

namespace roombox {

/// Whether a text cannot be a C string, as commands, paths, arguments and variables must be.
constexpr bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

/// Takes what is before the first separator off a text, and the separator.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// A text without the blanks around it, as values of headers are read (RFC 9110, 5.6.3).
constexpr std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

}  // namespace roombox
