#pragma once

#include <cstdint>

#include "wasm/protocol/named.h"

namespace roombox {

/// What a call needs. A room token has a set of those between None and All.
enum class Scope : std::uint8_t {
  None,  ///< Anybody may.
  Exec,
  Attach,
  Files,
  Ports,
  Read,
  Delete,
  All,  ///< What is of no one room: API keys alone may.
};

/// Those that a token can have; messages::kScope lists them.
inline constexpr Names<Scope, 6> kScopeNames = {{
    {Scope::Exec, "exec"},
    {Scope::Attach, "attach"},
    {Scope::Files, "files"},
    {Scope::Ports, "ports"},
    {Scope::Read, "read"},
    {Scope::Delete, "delete"},
}};

}  // namespace roombox
