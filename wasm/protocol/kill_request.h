#pragma once

#include <optional>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/json_reader.h"
#include "wasm/protocol/result.h"
#include "wasm/protocol/signals.h"

namespace roombox {

/// The signal that a string or a number of a body names; none where there is no such signal.
std::optional<int> signal_of(const JsonValue& value);

/// A signal to an execution, as the body of a kill call asks for it.
struct KillRequest {
  int signal = kSigkill;  ///< Linux's number of it: 1–64.
};

/// Reads and validates a body: nothing at all, or an object whose `signal`, if it has one, is a name
/// (`SIGTERM`, `TERM`) or a number. Errors as parse_exec_request's.
Result<KillRequest, FieldErrors> parse_kill_request(std::string_view body);

}  // namespace roombox
