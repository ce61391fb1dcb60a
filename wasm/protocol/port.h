#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

/// Ports of a sandbox, on which its servers listen.
namespace roombox {

/// A port of a path: in digits, from 1 to limits::kPort, without leading zeros: each has one URL.
std::optional<std::uint16_t> parse_port(std::string_view text);

/// The error for a path that names none, or the agent's own.
Error no_port();

/// Reads and validates the body of a call for a port: `{"port":…}`, a whole number from 1 to limits::kPort
/// that is not the agent's own port. Errors as parse_exec_request's.
Result<std::uint16_t, FieldErrors> parse_port_request(std::string_view body);

}  // namespace roombox
