#pragma once

#include <string_view>

namespace roombox {

/// Whether a text cannot be a C string, as commands, paths, arguments and variables must be.
constexpr bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace roombox
