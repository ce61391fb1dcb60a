#pragma once

#include <span>
#include <string_view>

namespace roombox {

/// A word that callers of other systems write, and the name it stands for here.
struct Alias {
  std::string_view word;
  std::string_view name;
};

/// The one of `names` that was probably meant by `given`, by its spelling (case, `_` and `-` count for
/// nothing) or by an alias of it; empty if none is near.
std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names,
                              std::span<const Alias> aliases);

}  // namespace roombox
