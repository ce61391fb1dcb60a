#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

namespace roombox {

/// A room token to sign, as the body of its call asks for it.
struct TokenRequest {
  std::string scopes;  ///< With commas between them, each once, in the order of the body.
  std::chrono::milliseconds lifetime;
};

/// Reads and validates a body: `{"scope":["exec",…],"expires_in":3600}`, at least one of the scopes that a
/// token may have, and seconds from 1 to limits::kTokenLifetimeMax, limits::kTokenLifetime where absent.
/// Errors as parse_exec_request's.
Result<TokenRequest, FieldErrors> parse_token_request(std::string_view body);

}  // namespace roombox
