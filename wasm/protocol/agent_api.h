#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What edge and object ask of the agent, and how: plain HTTP/1.1 with the agent's token in kTokenHeader, the
/// caller's own body passed through untouched, the reply the final one, in the dialect asked for.
namespace roombox::agent_api {

/// `POST`: run the command of an exec body under the id of kExecutionHeader. 200 with the result as JSON, or
/// with a stream of events (sse.h), or 202 with the running execution, as the body asks. kExecutionHeader is
/// on every reply to what became an execution, whatever its status; without it nothing ran and no record
/// will come.
inline constexpr std::string_view kExecutions = "/executions";

/// `/executions/{id}` alone, `GET`: one frame (record.h) of kRecordsType, of a running execution too; 404
/// if the agent does not know it.

/// `/executions/{id}/events`, `GET`: a stream of events, from the first or after kLastEventIdHeader. 404; 410
/// if what comes after that id is no longer kept; 204 if nothing comes after it any more.
inline constexpr std::string_view kEvents = "/events";

/// `/executions/{id}/stdin`, `POST`: bytes for its stdin; with the query kEof its end after them. 200 with
/// their number as JSON when they are taken; 409 if it has ended or its stdin is closed.
inline constexpr std::string_view kStdin = "/stdin";
inline constexpr std::string_view kEof = "eof=true";

/// `/executions/{id}/attach`, `GET` for a WebSocket: attach.h, from the sequence number that Last-Event-ID
/// gives on; 410 if what comes after it is no longer kept. `/terminal` is the same without channels: bytes
/// both ways, and an end.
inline constexpr std::string_view kAttach = "/attach";
inline constexpr std::string_view kTerminal = "/terminal";

/// `/executions/{id}/resize`, `POST`: the size (terminal.h) of its terminal; 200 with the execution as JSON,
/// 409 if it has ended or has none.
inline constexpr std::string_view kResize = "/resize";

/// `/executions/{id}/kill`, `POST`: a signal (kill_request.h) to its processes; 200 with the execution as
/// JSON, after SIGKILL when none of them is left; 409 if it has ended.
inline constexpr std::string_view kKill = "/kill";

/// `POST`: the size (terminal.h) of a terminal, in which the account's shell is started; as `POST
/// /executions` of a detached command.
inline constexpr std::string_view kTerminals = "/terminals";

/// What runs in such a terminal.
inline constexpr std::string_view kTerminalCommand = "exec \"$SHELL\"";

/// `GET`: frames of kRecordsType, chunked, of every execution that has ended and is not yet acknowledged, and
/// of more as they end; it ends by itself. A newer call ends an older one.
inline constexpr std::string_view kRecords = "/records";

/// `POST`: ids, one a line, of executions whose records are kept elsewhere now; the agent forgets them. 200.
inline constexpr std::string_view kRecordsStored = "/records/stored";

/// Files, each call as `/files?` and the path, absolute and percent-encoded, with the user's own rights.
/// `GET`, `HEAD`: a file's bytes, with the headers of RFC 9110 for ranges and conditions; a directory's
/// listing (file.h). `PUT`: the body becomes the file's bytes, as a whole or not at all; 201 or, where there
/// was one, 200. `DELETE`: removes a file or an empty directory; 204.
inline constexpr std::string_view kFiles = "/files";

/// `GET`, `HEAD`: the same of a file alone, and of a directory alone; 409 for the other.
inline constexpr std::string_view kFileBytes = "/files/bytes";
inline constexpr std::string_view kFileList = "/files/list";

/// `PUT`: makes a directory and those above it; 201, or 200 where there is one.
inline constexpr std::string_view kDirectory = "/files/directory";

/// `DELETE`: removes a file, or a directory with all that is in it; 204.
inline constexpr std::string_view kTree = "/files/tree";

/// `/ports/{port}/{path}?{query}`, any method, for HTTP or a WebSocket: relayed as `METHOD /{path}?{query}`
/// to a server in the sandbox, at 127.0.0.1:{port} or else [::1]:{port}, and its answer back, both without
/// the headers that begin with kOwnHeaders. 404 for a port that is none, or the agent's own; 502 if nothing
/// listens there for as long as kWaitHeader says, or what does gives no answer of HTTP. The connection is
/// never used for another request, which would be the server's to read: every answer says so.
inline constexpr std::string_view kPorts = "/ports/";

/// The agent's own port, on which it relays nothing.
inline constexpr std::uint16_t kOwnPort = 8080;

/// Request header of kPorts: how many milliseconds to wait for somebody to listen, in decimal; 0 where it is
/// absent.
inline constexpr std::string_view kWaitHeader = "Roombox-Wait";

/// `GET`: how much is going on, as a decimal number: executions that run, calls that are being answered,
/// attached WebSockets and relayed connections; this call and those of health, version and records are none.
/// With 0 nobody would notice a stop.
inline constexpr std::string_view kActivity = "/activity";

/// `GET`: the agent in numbers since it began, in the text format 0.0.4 of Prometheus. No activity either.
///
///   roombox_build_info{version,boot_id}         always 1
///   roombox_uptime_seconds
///   roombox_executions_started_total
///   roombox_executions_running
///   roombox_executions_ended_total{status}
///   roombox_executions_out_of_memory_total      of those that ended
///   roombox_execution_duration_seconds          a histogram, of those that ended
///   roombox_output_bytes_total{stream}          what commands wrote, stored or not
///   roombox_attached_clients                    of executions that run
///   roombox_records_unstored                    ended executions that nobody has acknowledged
///   roombox_records_unstored_bytes              of their output
///   roombox_tree_death_seconds                  a histogram: from a kill to the end of the last process
///   roombox_tree_deaths_overdue_total           those kills that processes outlived
///   roombox_http_connections                    this call's too
///   roombox_http_requests_total{status}         answered by the agent itself, as 2xx; without this call
///   roombox_http_requests_relayed_total         taken to be relayed; one that was refused is in both
///   process_resident_memory_bytes, process_open_fds, process_cpu_seconds_total
inline constexpr std::string_view kMetrics = "/metrics";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4";

/// Request header: the trace that a call belongs to, as W3C Trace Context has it. Every hop has an id of its
/// own in it; a server behind kPorts gets it too.
inline constexpr std::string_view kTraceHeader = "Traceparent";

/// Request header: the agent's token. Not Authorization, which is for the servers behind kPorts.
inline constexpr std::string_view kTokenHeader = "Roombox-Token";

/// What the names of all headers between edge, object and agent begin with.
inline constexpr std::string_view kOwnHeaders = "Roombox-";

/// `GET`, without a token: 200 once the agent takes commands, with the boot id in kBootHeader.
inline constexpr std::string_view kHealth = "/health";
inline constexpr std::string_view kBootHeader = "Roombox-Boot";

/// `GET`, without a token: the agent's version and boot id, as JSON.
inline constexpr std::string_view kVersion = "/version";

/// Request header: the sandbox's name, for the answer's `sandboxName`.
inline constexpr std::string_view kSandboxHeader = "Roombox-Sandbox";

/// Request header: the dialect of the answer, by its name in dialect.h; rooms where it is absent.
inline constexpr std::string_view kDialectHeader = "Roombox-Dialect";

/// Request header of `POST /executions`: the id of the new execution. To the object: that of an existing one
/// that a call is about. Reply header: see kExecutions.
inline constexpr std::string_view kExecutionHeader = "Roombox-Execution";

/// Request header of `POST /executions`: what the caller waits for, by its name in stream.h, in a dialect
/// whose body does not say.
inline constexpr std::string_view kModeHeader = "Roombox-Mode";

/// Request header of `POST /executions`: `attach` where the caller attaches next, so that the command waits
/// for it a while rather than that it misses output.
inline constexpr std::string_view kNextHeader = "Roombox-Next";
inline constexpr std::string_view kAttachesNext = "attach";

/// Request header: a decimal number, the id of the last event that a reader has seen.
inline constexpr std::string_view kLastEventIdHeader = "Last-Event-ID";

/// Request header of `PUT` of a file: what follows the last byte of the file in the body. A body that ends
/// without it was cut off: the chunked coding may be ended by whoever passes it on and loses its sender.
inline constexpr std::string_view kEndHeader = "Roombox-End";

/// Request header, to the object only: what logs call the caller, as `key:ci`.
inline constexpr std::string_view kCallerHeader = "Roombox-Caller";

/// Request header, to the object only: 1–255 visible ASCII characters.
inline constexpr std::string_view kIdempotencyHeader = "Idempotency-Key";

/// Reply header, of the object only: names what became of a request without an agent's reply (outcome.cpp);
/// its facts are the body.
inline constexpr std::string_view kOutcomeHeader = "roombox-outcome";

/// Content type of frames.
inline constexpr std::string_view kRecordsType = "application/octet-stream";

/// The path of an execution, and of a call on it: `/executions/{id}/kill`.
inline std::string execution_path(std::string_view id, std::string_view call = {}) {
  return std::string(kExecutions).append("/").append(id).append(call);
}

}  // namespace roombox::agent_api
