#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

namespace roombox {

/// Reads and validates a body that says after how long without activity a sandbox is to sleep by itself, 0
/// for never: `{"timeout":…}`, in seconds up to limits::kSleepAfterMax. Where that is optional, field and
/// body may be absent; none then. Errors as parse_exec_request's.
Result<std::optional<std::chrono::milliseconds>, FieldErrors> parse_timeout_request(std::string_view body,
                                                                                    Presence timeout);

}  // namespace roombox
