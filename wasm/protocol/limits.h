#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Every maximum that a request can meet, for edge and agent alike.
namespace roombox::limits {

using namespace std::chrono_literals;

/// Characters of a room id. Longer ids are refused, never cut: two ids are one room only if they are one
/// string.
inline constexpr std::size_t kRoomId = 64;

/// Characters of an execution id after its `exec_`. The ids of new ones have 20.
inline constexpr std::size_t kExecutionId = 64;

/// Entries of a list in one answer.
inline constexpr std::size_t kPageMax = 100;
inline constexpr std::size_t kPageDefault = 20;

/// Bytes of a command as a list shows it.
inline constexpr std::size_t kListedCommand = 1024;

/// The largest number of a cursor: those who read it count in doubles.
inline constexpr std::uint64_t kCursorMax = (std::uint64_t{1} << 53) - 1;

/// Characters of an Idempotency-Key.
inline constexpr std::size_t kIdempotencyKey = 255;

/// Bytes of a URL. Room for a path of kPath bytes, each percent-encoded as three, and for what is around it;
/// the agent takes 16 KiB of a request's head, ours among it.
inline constexpr std::size_t kUrl = 14u << 10;

/// Bytes of a request's headers together, each with its name, `: ` and line end. More than browsers, proxies
/// and their cookies need; the platform takes 128 KB.
inline constexpr std::size_t kHeaders = 32u << 10;

/// Bytes of URL and headers together where they are for a server in the sandbox: what the agent takes, less
/// 1 KiB for what edge and object add.
inline constexpr std::size_t kRelayedHead = 15u << 10;

/// Bytes of a JSON request body. Room for a command of kCommand bytes with every character escaped as
/// `\uXXXX` where that at most triples it (all of them but plain ASCII, which nobody escapes so), and for its
/// environment.
inline constexpr std::size_t kBody = 4u << 20;

/// Levels of arrays and objects in a body. A valid one has two; the reader keeps a byte per level.
inline constexpr std::size_t kJsonDepth = 32;

/// Bytes of command text, as UTF-8.
inline constexpr std::size_t kCommand = 1u << 20;

/// Bytes of a command's input as the body of its call brings it. A body has room for it beside a plain
/// command; more goes to the execution's own stdin call, which takes kBody bytes at a time.
inline constexpr std::size_t kStdin = 1u << 20;

/// Bytes of one argument of a program, without its NUL: MAX_ARG_STRLEN of linux/binfmts.h is 32 pages with
/// it. All arguments together are held to kCommand.
inline constexpr std::size_t kArgument = (128u << 10) - 1;

/// Characters of a persistent shell's name.
inline constexpr std::size_t kShellName = 32;

/// Bytes of a working directory: PATH_MAX of linux/limits.h without its NUL.
inline constexpr std::size_t kCwd = 4095;

/// Bytes of a file's path, likewise.
inline constexpr std::size_t kPath = 4095;

/// Environment variables in one request, and their bytes (names, values, `=` and NUL) taken together. With
/// kCommand they stay below what execve(2) takes: a quarter of an 8 MiB stack.
inline constexpr std::size_t kEnvCount = 4096;
inline constexpr std::size_t kEnvBytes = 512u << 10;

/// Bytes of one `NAME=value`, without its NUL: MAX_ARG_STRLEN of linux/binfmts.h is 32 pages with it.
inline constexpr std::size_t kEnvEntry = (128u << 10) - 1;

/// Wall time of a command.
inline constexpr std::chrono::milliseconds kTimeoutMin = 1ms;
inline constexpr std::chrono::milliseconds kTimeoutMax = 1h;
inline constexpr std::chrono::milliseconds kTimeoutDefault = 60s;

/// How long a detached command may go on after its last client has left, if that is bounded at all.
inline constexpr std::chrono::milliseconds kMaxRunAfterDisconnect = 24h;

/// How long a sandbox may go unused before it sleeps by itself, if that is bounded at all: the platform keeps
/// the snapshot of one that sleeps for 30 days.
inline constexpr std::chrono::milliseconds kSleepAfterMax = 30 * 24h;

/// The largest number of a TCP port.
inline constexpr std::uint16_t kPort = 65535;

/// How long a call for a server in the sandbox may wait for it to listen.
inline constexpr std::chrono::milliseconds kPortWait = 60s;

/// Clients that are present in a room at once: each is told of all, so what a change costs grows with them.
inline constexpr std::size_t kPresent = 64;

/// Bytes of the name of one, and of what it tells the others of itself.
inline constexpr std::size_t kPresenceName = 64;
inline constexpr std::size_t kPresenceState = 256;

/// Columns and rows of a terminal.
inline constexpr std::int64_t kTerminalCells = 4096;

/// Bytes kept of each output stream for the result and the record; what comes later sets `truncated`.
inline constexpr std::size_t kStoredOutput = 1u << 20;

/// Bytes of output that one event of a replay brings, at most.
inline constexpr std::size_t kReplayedPiece = 64u << 10;

/// Bytes of the order in which the stored bytes of two streams came (record.h). An execution whose streams
/// change places more often is replayed as a whole only, one stream after the other.
inline constexpr std::size_t kRuns = 64u << 10;

/// Bytes of a caller's own field name that an error repeats, and faults of one body that an answer lists.
/// Together they keep the answer small, whatever the body.
inline constexpr std::size_t kQuotedName = 64;
inline constexpr std::size_t kFieldErrors = 20;

/// How long a room token holds, if its call does not say, and at most: it cannot be taken back but with its
/// key.
inline constexpr std::chrono::milliseconds kTokenLifetime = 1h;
inline constexpr std::chrono::milliseconds kTokenLifetimeMax = 30 * 24h;

}  // namespace roombox::limits
