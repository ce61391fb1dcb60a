#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roombox {

/// Characters that so many bytes become.
constexpr std::size_t base64_size(std::size_t bytes) {
  return (bytes / 3 + (bytes % 3 > 0 ? 1 : 0)) * 4;
}

/// Appends the bytes in base64 (RFC 4648, with padding).
void append_base64(std::string& out, std::string_view bytes);

}  // namespace roombox
