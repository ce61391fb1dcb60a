#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/protocol/dialect.h"

namespace roombox {

enum class Status {
  Running,
  Completed,  ///< It ended by itself, whatever its exit code.
  Timeout,    ///< Its time ran out and it was killed; exit code 124.
  Cancelled,  ///< Its client left, or it was killed by request.
  Failed,     ///< It could not be run, or its sandbox died.
};

/// An execution as it stands, for rendering; the views are borrowed from whoever owns the execution.
struct ExecutionView {
  std::string_view id;
  Status status = Status::Running;
  std::optional<int> exit_code;  ///< 0–255; 128+n for signal n; 124 for a timeout; none before the end.
  std::optional<std::string_view>
      signal;              ///< Name of the signal that ended the command's shell, as `SIGKILL`.
  std::string_view out;    ///< Stored bytes of stdout, not necessarily UTF-8.
  std::string_view err;    ///< The same of stderr.
  bool truncated = false;  ///< A stream had more than is stored.
  bool oom = false;        ///< It ended with 137 as the kernel killed for want of memory.
  std::string_view command;
  std::chrono::milliseconds duration{0};
  std::chrono::system_clock::time_point started_at;
};

/// The name in JSON, as in `"status":"completed"`.
std::string_view name(Status status);

/// The answer to an exec call in the dialect: for rooms `{"result":{…},"sandboxName":"…"}`. Bytes that are
/// not UTF-8 become U+FFFD; where truncation cut a character in two, its first part is left out.
std::string render(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect);

}  // namespace roombox
