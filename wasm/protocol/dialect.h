#pragma once

#include <optional>
#include <string_view>

#include "wasm/protocol/named.h"

namespace roombox {

/// Whose request and response shapes a call speaks. Each is a rendering of the same execution.
enum class Dialect {
  Rooms,  ///< /api/rooms
  V1,     ///< /v1/sandboxes
  Sdk,    ///< /api/sandboxes, what the published SDK speaks
};

inline constexpr Names<Dialect, 3> kDialectNames = {{
    {Dialect::Rooms, "rooms"},
    {Dialect::V1, "v1"},
    {Dialect::Sdk, "sdk"},
}};

/// The name that edge and agent say to each other, as in `Roombox-Dialect: rooms`.
constexpr std::string_view name(Dialect dialect) {
  return name_in(kDialectNames, dialect);
}

/// The dialect of that name, if there is one.
constexpr std::optional<Dialect> dialect_named(std::string_view wanted) {
  return value_in(kDialectNames, wanted);
}

}  // namespace roombox
