#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/dialect.h"
#include "wasm/protocol/env_reader.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/result.h"
#include "wasm/protocol/stream.h"
#include "wasm/protocol/terminal.h"

namespace roombox {

/// A command to run, as the body of an exec call asks for it. Every value satisfies the rules of limits.h.
struct ExecRequest {
  std::string cmd;                               ///< The text of a command, or the name of a program.
  std::optional<std::vector<std::string>> args;  ///< Of a program, which then runs without a shell between.
  std::string cwd;                               ///< Absolute; empty where the caller named none.
  std::vector<EnvVar> env;
  /// Wall time; none only for a detached command that was given none.
  std::optional<std::chrono::milliseconds> timeout = limits::kTimeoutDefault;
  std::optional<std::string> stdin_text;  ///< Fed to the command, then end of file; any bytes of UTF-8.
  Mode mode = Mode::Plain;
  Encoding encoding = Encoding::Utf8;
  /// Name of the persistent shell of the sandbox that runs it; empty where it gets a shell of its own. With
  /// one, there are no `cwd`, no `env` and no `terminal`.
  std::string shell;
  std::optional<TerminalSize> terminal;  ///< It runs in a terminal; its mode is Detach.
  /// How long it goes on after the last attached client has left; of Detach alone. None: as long as it likes.
  std::optional<std::chrono::milliseconds> max_run_after_disconnect;
};

/// The arguments of a program as ExecutionView has them; empty where there are none.
std::string joined_arguments(const ExecRequest& request);

/// @param mode what the caller waits for, where the dialect's body does not say
///
/// Reads and validates a JSON body (RFC 8259; a leading byte order mark is skipped, a duplicate name
/// refused) by the dialect's fields, under whose names the errors are. They name every field that breaks a
/// rule, or `body` with the byte position where the JSON ends to be JSON. Never reads past the body, never
/// recurses, and touches each byte once.
Result<ExecRequest, FieldErrors> parse_exec_request(std::string_view body, Dialect dialect,
                                                    Mode mode = Mode::Plain);

}  // namespace roombox
