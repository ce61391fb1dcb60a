#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace roombox {

/// Whose request and response shapes a call speaks. Each is a rendering of the same execution.
enum class Dialect {
  Rooms,  ///< /api/rooms
};

inline constexpr std::array<std::pair<Dialect, std::string_view>, 1> kDialectNames = {{
    {Dialect::Rooms, "rooms"},
}};

/// The name that edge and agent say to each other, as in `Roombox-Dialect: rooms`.
constexpr std::string_view name(Dialect dialect) {
  for (const auto& [value, text] : kDialectNames) {
    if (value == dialect) return text;
  }
  return {};
}

/// The dialect of that name, if there is one.
constexpr std::optional<Dialect> dialect_named(std::string_view wanted) {
  for (const auto& [value, text] : kDialectNames) {
    if (text == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace roombox
