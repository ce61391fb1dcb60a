#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstddef>

/// Maxima of the agent itself; what a request may hold is in wasm/protocol/limits.h.
namespace roombox::limits {

using namespace std::chrono_literals;

/// Bytes taken from a pipe at once: its default capacity (pipe(7)), so that one read empties it.
inline constexpr std::size_t kReadChunk = 64u << 10;

/// Reads from one pipe before other events get their turn.
inline constexpr int kReadsPerTurn = 8;

/// How long a killed tree may take to be gone. Only a process stuck in the kernel takes longer; the answer
/// then does not wait for it.
inline constexpr std::chrono::milliseconds kTreeDeath = 5s;

/// Passes over /proc that may each be undecided, since a process went away as it was looked at, before the
/// sandbox is stopped for a last one. In a busy sandbox a few are undecided by chance.
inline constexpr int kUndecidedPasses = 4;

/// Processes whose death one round of a tree kill awaits at once; the next round takes the rest.
inline constexpr std::size_t kKillBatch = 256;

/// Orphans are reaped this long after the first of them ended, all in one go.
inline constexpr std::chrono::milliseconds kOrphanSweep = 20ms;

/// Orphans reaped before other events get their turn.
inline constexpr int kOrphansPerTurn = 256;

/// Bytes of one request's header lines.
inline constexpr std::size_t kHttpHeader = 16u << 10;

/// Connections at once; the platform opens one per call in flight.
inline constexpr std::size_t kConnections = 8192;

/// How long a request may take to arrive, a reply to be taken, and an idle connection to be kept.
inline constexpr std::chrono::seconds kHttpTransfer = 60s;
inline constexpr std::chrono::seconds kHttpIdle = 180s;

/// How long a refused client may go on sending before it is cut off.
inline constexpr std::chrono::seconds kHttpLinger = 5s;

/// Open files of the agent and, as they inherit it, of each process in the sandbox.
inline constexpr rlim_t kOpenFiles = 65536;

/// Bytes of one argument or environment string with its NUL: MAX_ARG_STRLEN of linux/binfmts.h.
inline constexpr std::size_t kArgument = 128u << 10;

}  // namespace roombox::limits
