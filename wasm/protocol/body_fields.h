#pragma once

#include <span>

#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/dialect.h"

/// The fields of every body that a caller may send: what its reader knows, and what the API's document is
/// held against.
namespace roombox {

std::span<const BodyField> exec_fields(Dialect dialect);
std::span<const BodyField> create_fields(Dialect dialect);
std::span<const BodyField> kill_fields();
std::span<const BodyField> port_fields();
std::span<const BodyField> terminal_fields();
std::span<const BodyField> timeout_fields(Presence timeout);
std::span<const BodyField> token_fields();

namespace attach {
std::span<const BodyField> control_fields();
}

}  // namespace roombox
