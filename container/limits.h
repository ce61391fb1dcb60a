#pragma once

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

/// Maxima of the agent itself; what a request may hold is in wasm/protocol/limits.h.
namespace roombox::limits {

using namespace std::chrono_literals;

/// Bytes taken from a pipe at once: its default capacity (pipe(7)), so that one read empties it.
inline constexpr std::size_t kReadChunk = 64u << 10;

/// Bytes that a pipe holds for us once a command has filled one read: then it writes faster than we get to
/// run, and each switch between the two of us should be worth it.
inline constexpr int kBusyPipe = 256 << 10;

/// Bytes kept of the end of an execution's output, for readers that come later or fall behind, and changes
/// from one stream to the other kept with them: each costs 16 bytes.
inline constexpr std::size_t kKeptOutput = 1u << 20;
inline constexpr std::size_t kKeptRuns = 16u << 10;

/// Bytes that a command may be ahead of the client that it streams to. What its two pipes hold at its end is
/// taken whatever the client does, and must not push out of kKeptOutput what that has not read.
inline constexpr std::size_t kStreamBehind = 384u << 10;
static_assert(kStreamBehind + kReadChunk + 2 * kBusyPipe < kKeptOutput);

/// How long a command waits for an attached client that takes nothing: no longer than others would notice,
/// and longer where there is no other. Then that client is behind what is kept before long, and is closed.
inline constexpr std::chrono::milliseconds kAttachedPatience = 25ms;
inline constexpr std::chrono::milliseconds kOnlyAttachedPatience = 1s;

/// Bytes given to a connection at once.
inline constexpr std::size_t kStreamFill = 256u << 10;

/// Bytes of a request's body that its sink is given at once, and of a file that are read at once.
inline constexpr std::size_t kReceivedPiece = 256u << 10;
inline constexpr std::size_t kFilePiece = 256u << 10;

/// Entries of a directory in one listing: it is sorted, so all names are in memory, 10 MB of them perhaps.
inline constexpr std::size_t kListedEntries = 100'000;

/// Bytes of a listing that are made at once.
inline constexpr std::size_t kListingPiece = 64u << 10;

/// Directories in directories that one call removes: each is open meanwhile.
inline constexpr std::size_t kRemovedDepth = 256;

/// Entries removed before other calls about files get their turn.
inline constexpr int kRemovedPerTurn = 1000;

/// Symbolic links that a path may end in, one after another: as many as the kernel follows
/// (path_resolution(7)).
inline constexpr int kFollowedLinks = 40;

/// A stream that has nothing to say pings this often. A client that has left is noticed by nothing but a
/// write that fails, at each of the servers between it and the agent in turn; at this pace the last of three
/// knows within a second.
inline constexpr std::chrono::milliseconds kPing = 250ms;

/// How long a command waits for a client that said that it would attach.
inline constexpr std::chrono::seconds kFirstClient = 5s;

/// How long an attached client may be silent before it is pinged; after as long again it counts as gone.
inline constexpr std::chrono::seconds kWebSocketPing = 30s;

/// How long processes that its command has left may hold a terminal once that has exited.
inline constexpr std::chrono::milliseconds kTerminalLinger = 500ms;

/// Bytes of stdin that wait for a command to read them.
inline constexpr std::size_t kStdinQueue = 4u << 20;

/// Bytes of an attached client's input that may wait for the command while its next messages are read.
inline constexpr std::size_t kAttachedInput = 2u << 20;

/// How long the records feed stays open with nothing to tell.
inline constexpr std::chrono::seconds kFeedIdle = 5s;

/// Bytes of ended executions' output that wait for the object to store them; with more, no new one starts.
inline constexpr std::size_t kUnstoredOutput = 64u << 20;

/// Reads from one pipe before other events get their turn: as many as empty it, however full.
inline constexpr int kReadsPerTurn = kBusyPipe / kReadChunk;

/// Bytes that a terminal gives at once where it has more: as many as the kernel keeps for its reader
/// (N_TTY_BUF_SIZE, less one). And what ends a turn of one before others get theirs: two full messages, or
/// a time, since to make a line's end of each newline takes the kernel many times what bytes do otherwise.
inline constexpr std::size_t kTerminalRead = 4095;
inline constexpr int kTerminalReadsPerTurn = 2 * kReadChunk / kTerminalRead;
inline constexpr auto kTerminalTurn = 1ms;

/// Bounds of the metrics' buckets: of an execution's duration, from what a shell takes to start to the
/// longest timeout's tenth; and of a killed tree's death, up to kTreeDeath.
inline constexpr std::array<std::chrono::milliseconds, 6> kExecutionBuckets = {10ms, 100ms, 1s,
                                                                               10s,  1min,  6min};
inline constexpr std::array<std::chrono::milliseconds, 5> kTreeDeathBuckets = {1ms, 10ms, 100ms, 1s, 5s};

/// How long a killed tree may take to be gone. Only a process stuck in the kernel takes longer, or a fork
/// bomb on a busy machine; the answer then does not wait for it. The kill goes on: after that long without
/// the death of those it met last it looks again, each time twice as long, and at most so long.
inline constexpr std::chrono::milliseconds kTreeDeath = 5s;
inline constexpr std::chrono::milliseconds kMostPatience = 1min;

/// Passes over /proc that may each be undecided, since a process went away as it was looked at, before the
/// sandbox is stopped for a last one. In a busy sandbox a few are undecided by chance.
inline constexpr int kUndecidedPasses = 4;

/// Passes of one kill that may each meet processes, since they are forked as fast as they are killed, before
/// the sandbox is stopped for a pass that meets them all.
inline constexpr int kMetPasses = 2;

/// Processes of a tree that one pass meets, from which on the tree alone is stopped at once: else the killed
/// of a fork bomb wait for their turn to die among those that it forks meanwhile.
inline constexpr std::size_t kCrowd = 64;

/// Passes in which a tree is stopped before it is killed; a fork bomb that has run out of room to fork in
/// stands still after a few.
inline constexpr int kHoldPasses = 20;

/// Processes whose death one round of a tree kill awaits at once; the next round takes the rest.
inline constexpr std::size_t kKillBatch = 256;

/// Processes whose death all kills together await at once, each by a descriptor: well below kOpenFiles.
inline constexpr std::size_t kKillsBatch = 4096;

/// How long a pass waits for its next try that found no descriptor left to look with.
inline constexpr std::chrono::milliseconds kBlindPass = 10ms;

/// Empty cgroups kept for the next executions: as many as run at once in a busy sandbox. More are removed.
inline constexpr std::size_t kSpareCgroups = 64;

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

/// How long the reader of a stream may take nothing before it counts as gone.
inline constexpr std::chrono::minutes kHttpStall = 10min;

/// Bytes on their way through a relayed connection, in each direction; and of the head of a server's
/// response.
inline constexpr std::size_t kRelayed = 64u << 10;

/// How often a relayed request that waits for somebody to listen on its port tries: no event tells.
inline constexpr std::chrono::milliseconds kListenerRetryMin = 5ms;
inline constexpr std::chrono::milliseconds kListenerRetryMax = 100ms;

/// How long a refused client may go on sending before it is cut off.
inline constexpr std::chrono::seconds kHttpLinger = 5s;

/// Open files of the agent and, as they inherit it, of each process in the sandbox.
inline constexpr rlim_t kOpenFiles = 65536;

/// Descriptors that a persistent shell is given begin at this number and end before the other: above those
/// that bash chooses for itself as it begins, from 10 on, and below any limit of open files.
inline constexpr int kInherited = 50;
inline constexpr int kInheritedEnd = 60;

/// Persistent shells of one sandbox at once: each is a bash, 4 MB.
inline constexpr std::size_t kShells = 32;

/// How long a persistent shell is kept that nobody uses.
inline constexpr std::chrono::minutes kShellIdle = 10min;

/// Processes and threads that the commands' user may have at once, in a sandbox that has the memory for them:
/// a build on many cores and a browser take some hundreds, and a host's own default limit, 32768 (pid_max),
/// holds several sandboxes that are full. It cannot be generous: where containers have no user namespace of
/// their own the kernel counts a uid across all containers of one host, so that a fork bomb in one leaves
/// others the commands they have, and their shells, but no new processes below these until it is killed.
inline constexpr rlim_t kProcesses = 4096;

/// Of memory for each such process: a forked shell's own pages and what the kernel keeps for it (bash forked
/// from bash: 270 KiB here), twice, so that processes run out before the memory.
inline constexpr std::uint64_t kMemoryPerProcess = 512u << 10;

/// The fewest processes, however small the memory is.
inline constexpr rlim_t kLeastProcesses = 256;

/// Share of the sandbox's memory that the data of one process may take, in percent; the rest is the agent's
/// (it needs some MB) and the system's. The least is for runtimes that reserve more than they use: a small
/// sandbox is the OOM killer's to keep.
inline constexpr unsigned kDataPercent = 90;
inline constexpr std::uint64_t kLeastData = 512u << 20;

/// Share of the processes and of the memory of all commands together that one execution may take, in percent,
/// where the sandbox's cgroups can tell executions apart: the rest is the next command's, and a terminal's to
/// look what is wrong. A tenth of the fewest processes is 25 and of a small sandbox's memory 23 MB, and a
/// shell is one process of 4 MB. No smaller share: a build that is alone in its sandbox is to have nearly all
/// of it.
inline constexpr unsigned kOneExecutionPercent = 90;

/// Added to the agent's own oom_score_adj for its commands: as if half of the memory were theirs, so that
/// the kernel finds one that has it before the agent (which have it: offer_to_oom_killer).
inline constexpr int kOomScoreAdjustment = 500;

}  // namespace roombox::limits
