#include "wasm/protocol/near_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace roombox {
namespace {

/// Longer names are not compared: no name of ours is near them, and the comparison's table stays on the
/// stack.
constexpr std::size_t kLongest = 32;

/// A name without what counts for nothing; `size` is more than kLongest if it does not fit.
struct Plain {
  std::array<char, kLongest> text{};
  std::size_t size = 0;

  std::string_view view() const { return {text.data(), size}; }
};

Plain plain(std::string_view name) {
  Plain result;
  for (char character : name) {
    if (character == '_' || character == '-') continue;
    if (result.size == kLongest) return {{}, kLongest + 1};
    const bool upper = character >= 'A' && character <= 'Z';
    result.text[result.size++] = upper ? static_cast<char>(character + ('a' - 'A')) : character;
  }
  return result;
}

/// Insertions, deletions and replacements that make one of the other (Levenshtein), row by row.
std::size_t distance(std::string_view from, std::string_view to) {
  std::array<std::size_t, kLongest + 1> row{};
  for (std::size_t column = 0; column <= to.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    std::size_t diagonal = row[0];
    row[0] = line;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const std::size_t replaced = diagonal + (from[line - 1] == to[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({replaced, row[column] + 1, row[column - 1] + 1});
    }
  }
  return row[to.size()];
}

/// How far off a spelling may be: one letter in three, at most two.
std::size_t tolerance(std::string_view name) {
  return std::clamp<std::size_t>(name.size() / 3, 1, 2);
}

}  // namespace

std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names,
                              std::span<const Alias> aliases) {
  const Plain wanted = plain(given);
  if (wanted.size == 0 || wanted.size > kLongest) return {};
  for (const Alias& alias : aliases) {
    if (alias.word != wanted.view()) continue;
    if (std::find(names.begin(), names.end(), alias.name) != names.end()) return alias.name;
  }
  std::string_view nearest;
  std::size_t least = kLongest;
  for (std::string_view name : names) {
    const Plain candidate = plain(name);
    const std::size_t off = distance(wanted.view(), candidate.view());
    if (off < least && off <= tolerance(candidate.view())) {
      nearest = name;
      least = off;
    }
  }
  return nearest;
}

}  // namespace roombox
