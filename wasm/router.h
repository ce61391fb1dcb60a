#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace roombox::edge {

/// The path of a URL, which may be absolute or begin with its path; without query and fragment, still
/// encoded.
std::string_view path_of(std::string_view url);

/// The query of a URL, without its question mark, still encoded; empty where there is none.
std::string_view query_of(std::string_view url);

/// What comes before the path of an absolute URL: `https://host:port`; empty where a URL begins with its
/// path.
std::string_view origin_of(std::string_view url);

/// The scheme of that, empty where it has none, and what follows on it: the host, with its port if it says
/// one.
std::string_view scheme_of(std::string_view url);
std::string_view host_of(std::string_view url);

/// The query of a URL with its question mark, without the parameters of that name and otherwise as it came,
/// empty parameters and all; empty where there is no query, or nothing else in it.
std::string query_without(std::string_view url, std::string_view name);

/// The value of the first parameter of that name in a query, still encoded; none where it is absent, empty
/// where it has no `=`.
std::optional<std::string_view> parameter(std::string_view query, std::string_view name);

/// How many segments a path or a pattern has: those that are of each other have as many, but where a pattern
/// takes the rest of a path.
constexpr std::ptrdiff_t depth_of(std::string_view path) {
  return std::count(path.begin(), path.end(), '/');
}
inline constexpr std::string_view kRest = "{path}";
constexpr bool takes_rest(std::string_view pattern) {
  return pattern.ends_with(kRest);
}

/// What a path has in the places of a pattern's names in braces, still encoded; none where there is no such
/// name.
struct PathMatch {
  std::optional<std::string_view> room;       ///< Of `{roomID}`, or of `{id}`, as v1 calls it.
  std::optional<std::string_view> execution;  ///< Of `{executionID}`.
  std::string_view port;                      ///< Of `{port}`, empty too where there is none.
  std::optional<std::string_view> rest;  ///< Of `{path}`: all that is left of the path, with its slashes.
};

/// Whether a path is of a pattern: the same segments between slashes, where a name in braces stands for any
/// one segment, an empty one too, and `{path}` at the end for any number of them.
std::optional<PathMatch> match(std::string_view pattern, std::string_view path);

}  // namespace roombox::edge
