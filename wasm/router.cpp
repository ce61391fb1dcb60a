#include "wasm/router.h"

#include <algorithm>

namespace roombox::edge {
namespace {

constexpr std::string_view kRoom = "{roomID}";

/// Takes the first segment off a path, and the slash after it.
std::string_view take_segment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

std::ptrdiff_t slashes(std::string_view path) {
  return std::count(path.begin(), path.end(), '/');
}

}  // namespace

std::string_view path_of(std::string_view url) {
  constexpr std::string_view kScheme = "://";
  if (!url.starts_with('/')) {
    const std::size_t scheme = url.find_first_of(":/?#");
    if (scheme == std::string_view::npos || !url.substr(scheme).starts_with(kScheme)) return {};
    url.remove_prefix(scheme + kScheme.size());
    url.remove_prefix(std::min(url.find_first_of("/?#"), url.size()));
  }
  return url.substr(0, url.find_first_of("?#"));
}

std::optional<PathMatch> match(std::string_view pattern, std::string_view path) {
  if (slashes(pattern) != slashes(path)) return std::nullopt;
  PathMatch found;
  while (!pattern.empty()) {
    const std::string_view expected = take_segment(pattern);
    const std::string_view segment = take_segment(path);
    if (expected == kRoom) {
      found.room = segment;
    } else if (expected != segment) {
      return std::nullopt;
    }
  }
  return found;
}

bool has_room(std::string_view pattern) {
  return pattern.find(kRoom) != std::string_view::npos;
}

}  // namespace roombox::edge
