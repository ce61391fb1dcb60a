#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roombox::edge {

/// The room id that a segment of a path gives, percent-decoded once; none if it breaks the rule: 1 to
/// limits::kRoomId characters of A-Z a-z 0-9 . _ - with a letter or digit at both ends. Never rewritten,
/// since two ids are one room only if they are one string.
std::optional<std::string> parse_room_id(std::string_view segment);

}  // namespace roombox::edge
