#pragma once

#include <string>
#include <string_view>

namespace roombox {

/// Appends the bytes in base64 (RFC 4648, with padding).
void append_base64(std::string& out, std::string_view bytes);

}  // namespace roombox
