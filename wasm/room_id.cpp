#include "wasm/room_id.h"

#include <algorithm>

#include "wasm/protocol/limits.h"
#include "wasm/protocol/percent.h"

namespace roombox::edge {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_allowed(char c) {
  return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
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
