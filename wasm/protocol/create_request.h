#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/result.h"

namespace roombox {

/// A sandbox to make, as the body of its call asks for it.
struct CreateRequest {
  std::vector<EnvVar> env;  ///< Variables for all of its commands.
  /// After how long without activity it is to sleep by itself, 0 for never; absent if the body does not say.
  std::optional<std::chrono::milliseconds> sleep_after;
};

/// Reads and validates a body: nothing at all, or an object of the dialect's fields. v1 has none. The SDK's
/// has templateID, of which there is only `base`, timeout (timeout_request.h), metadata and envs; what it
/// knows beyond that is refused by name. Errors as parse_exec_request's.
Result<CreateRequest, FieldErrors> parse_create_request(std::string_view body, Dialect dialect);

}  // namespace roombox
