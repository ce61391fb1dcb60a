#pragma once

#include <optional>
#include <string_view>

namespace roombox::edge {

/// The path of a URL, which may be absolute or begin with its path; without query and fragment, still
/// encoded.
std::string_view path_of(std::string_view url);

/// What a path has in the place of a pattern's `{roomID}`, still encoded.
struct PathMatch {
  std::string_view room;  ///< Empty where the pattern has no `{roomID}`, or the path nothing in its place.
};

/// Whether a path is of a pattern: the same segments between slashes, where `{roomID}` stands for any one
/// segment, an empty one too.
std::optional<PathMatch> match(std::string_view pattern, std::string_view path);

/// Whether a pattern names a room.
bool has_room(std::string_view pattern);

}  // namespace roombox::edge
