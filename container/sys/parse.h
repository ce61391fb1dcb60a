#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace roombox::sys {

/// The number that a whole text is, in decimal; nullopt where it is none or does not fit.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace roombox::sys
