#include "wasm/router.h"

#include <algorithm>
#include <array>

#include "wasm/protocol/text.h"

namespace roombox::edge {
namespace {

constexpr std::array<std::string_view, 2> kRooms = {"{roomID}", "{id}"};
constexpr std::string_view kExecution = "{executionID}";
constexpr std::string_view kPort = "{port}";

bool is_room(std::string_view segment) {
  return std::find(kRooms.begin(), kRooms.end(), segment) != kRooms.end();
}

/// Behind a URL's scheme.
constexpr std::string_view kScheme = "://";

/// Whether a path ends before a byte.
bool ends_path(char byte) {
  return byte == '?' || byte == '#';
}

/// Where the first such byte is, or the text's end. find_first_of searches its set anew for each byte.
template <typename Predicate>
std::size_t find_first(std::string_view text, Predicate is_it) {
  return static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_it) - text.begin());
}

/// What follows a URL's origin.
std::string_view without_origin(std::string_view url) {
  const auto ends_origin = [](char byte) { return byte == '/' || ends_path(byte); };
  if (url.starts_with('/')) return url;
  const std::size_t scheme = find_first(url, [&](char byte) { return byte == ':' || ends_origin(byte); });
  if (!url.substr(scheme).starts_with(kScheme)) return {};
  url.remove_prefix(scheme + kScheme.size());
  return url.substr(find_first(url, ends_origin));
}

/// The query of a URL; none where it has no question mark.
std::optional<std::string_view> find_query(std::string_view url) {
  url = without_origin(url);
  url = url.substr(0, url.find('#'));
  const std::size_t mark = url.find('?');
  return mark == std::string_view::npos ? std::nullopt : std::optional(url.substr(mark + 1));
}

}  // namespace

std::string_view path_of(std::string_view url) {
  url = without_origin(url);
  return url.substr(0, find_first(url, ends_path));
}

std::string_view query_of(std::string_view url) {
  return find_query(url).value_or(std::string_view());
}

std::string_view origin_of(std::string_view url) {
  return url.substr(0, url.size() - without_origin(url).size());
}

std::string_view scheme_of(std::string_view url) {
  const std::string_view origin = origin_of(url);
  const std::size_t end = origin.find(kScheme);
  return end == std::string_view::npos ? std::string_view() : origin.substr(0, end);
}

std::string_view host_of(std::string_view url) {
  const std::string_view origin = origin_of(url);
  const std::size_t scheme = origin.find(kScheme);
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + kScheme.size());
}

std::string query_without(std::string_view url, std::string_view name) {
  std::string kept;
  auto query = find_query(url);
  while (query) {
    const std::size_t end = query->find('&');
    const std::string_view part = query->substr(0, end);
    if (part.substr(0, part.find('=')) != name) kept.append(kept.empty() ? "?" : "&").append(part);
    query = end == std::string_view::npos ? std::nullopt : std::optional(query->substr(end + 1));
  }
  return kept;
}

std::optional<std::string_view> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    if (take_until(value, '=') == name) return value;
  }
  return std::nullopt;
}

std::optional<PathMatch> match(std::string_view pattern, std::string_view path) {
  const std::string_view whole_pattern = pattern;
  const std::string_view whole_path = path;
  PathMatch found;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view expected = take_until(pattern, '/');
    if (expected == kRest) {
      found.rest = path;
      break;
    }
    const std::string_view segment = take_until(path, '/');
    if (is_room(expected)) {
      found.room = segment;
    } else if (expected == kExecution) {
      found.execution = segment;
    } else if (expected == kPort) {
      found.port = segment;
    } else if (expected != segment) {
      return std::nullopt;
    }
  }
  // Segments that are not there looked like empty ones. Most patterns are refused before that is counted.
  const std::ptrdiff_t more = depth_of(whole_path) - depth_of(whole_pattern);
  if (more < 0 || (more > 0 && !takes_rest(whole_pattern))) return std::nullopt;
  return found;
}

}  // namespace roombox::edge
