#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/error.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/result.h"

namespace roombox {

struct EnvVar {
  std::string name;
  std::string value;
};

/// A command to run, as the body of an exec call asks for it. Every value satisfies the rules of limits.h.
struct ExecRequest {
  std::string cmd;
  std::string cwd;  ///< Absolute; empty where the caller named none.
  std::vector<EnvVar> env;
  std::chrono::milliseconds timeout = limits::kTimeoutDefault;
};

/// Reads and validates a JSON body (RFC 8259; a leading byte order mark is skipped, a duplicate name
/// refused). The errors name every field that breaks a rule, or `body` with the byte position where the JSON
/// ends to be JSON. Never reads past the body, never recurses, and touches each byte once.
Result<ExecRequest, FieldErrors> parse_exec_request(std::string_view body);

}  // namespace roombox
