#include "wasm/room_id.h"

#include <algorithm>

#include "wasm/protocol/limits.h"

namespace roombox::edge {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_allowed(char c) {
  return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
}

/// 0–15, or -1 for what is no hexadecimal digit.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    if (text.size() - at < 3) return std::nullopt;
    const int high = hex_value(text[at + 1]);
    const int low = hex_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high << 4 | low);
    at += 2;
  }
  return decoded;
}

}  // namespace

std::optional<std::string> parse_room_id(std::string_view segment) {
  constexpr std::size_t kEncodedByte = 3;  // %XX
  if (segment.size() > limits::kRoomId * kEncodedByte) return std::nullopt;
  std::optional<std::string> id = percent_decoded(segment);
  const bool valid = id && !id->empty() && id->size() <= limits::kRoomId &&
                     std::all_of(id->begin(), id->end(), is_allowed) && is_alphanumeric(id->front()) &&
                     is_alphanumeric(id->back());
  return valid ? id : std::nullopt;
}

}  // namespace roombox::edge
