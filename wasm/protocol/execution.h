#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/stream.h"

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
  Mode mode = Mode::Plain;
  std::string_view command;
  std::string_view arguments;  ///< Of a program that was named with its arguments: each of them and a NUL.
  Encoding encoding = Encoding::Utf8;
  Status status = Status::Running;
  std::optional<int> exit_code;  ///< 0–255; 128+n for signal n; 124 for a timeout; none before the end.
  std::optional<std::string_view>
      signal;                 ///< Name of the signal that ended the command's shell, as `SIGKILL`.
  std::string_view shell;     ///< The persistent shell that ran it; empty for one of its own.
  bool shell_exited = false;  ///< That shell ended with it; the next call of that name gets a fresh one.
  bool oom = false;           ///< It ended with 137 as the kernel killed for want of memory.
  bool truncated = false;     ///< A stream had more than is stored.
  std::chrono::system_clock::time_point started_at;
  std::optional<std::chrono::system_clock::time_point> finished_at;  ///< None while it runs.
  std::optional<std::chrono::milliseconds> duration;                 ///< None while it runs.
  std::size_t attached = 0;                                          ///< Clients attached to it now.
  std::uint64_t total = 0;       ///< Bytes written by both streams together, stored or not.
  const Error* error = nullptr;  ///< Of a failed one: why; null where that is not known, and for all others.
  std::string_view out;          ///< Stored bytes of stdout, not necessarily UTF-8.
  std::string_view err;          ///< The same of stderr.
  std::string_view runs;         ///< How they were interleaved (record.h); empty where that is not known.
};

/// The name in JSON, as in `"status":"completed"`.
std::string_view name(Status status);

/// The status of that name, if there is one.
std::optional<Status> status_named(std::string_view wanted);

/// The answer to an exec call in the dialect: for rooms `{"result":{…},"sandboxName":"…"}`, for v1 the
/// Execution object, whose sandbox_id is the id of the sandbox's room, for the SDK its result. In utf8, bytes
/// that are not UTF-8 become U+FFFD, and where truncation cut a character in two, its first part is left out.
std::string render(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect);

/// The answer to a call that starts a detached execution: for the SDK its session, for others as above.
std::string render_started(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect);

/// Writes the session of an execution as the SDK lists it.
void write_session(JsonWriter& json, const ExecutionView& execution, std::string_view sandbox_name);

/// The same at the end of a string.
void append_rendered(std::string& out, const ExecutionView& execution, std::string_view sandbox_name,
                     Dialect dialect);

/// As many bytes as `render` gives, or a few more. It looks at each byte.
std::size_t rendered_size(const ExecutionView& execution, std::string_view sandbox_name);

/// Writes an execution as lists of rooms show it: `result` without stdout and stderr.
void write_listed(JsonWriter& json, const ExecutionView& execution);

}  // namespace roombox
