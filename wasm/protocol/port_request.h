#pragma once

#include <cstdint>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

namespace roombox {

/// Reads and validates the body of a call for a port: `{"port":…}`, a whole number from 1 to limits::kPort
/// that is not the agent's own port. Errors as parse_exec_request's.
Result<std::uint16_t, FieldErrors> parse_port_request(std::string_view body);

}  // namespace roombox
