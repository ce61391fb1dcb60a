#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace roombox {

/// What the kernel holds each command to, beside what it inherits from the agent (open files, core size).
struct CommandLimits {
  rlimit processes;  ///< RLIMIT_NPROC, for all processes of the commands' user together.
  /// RLIMIT_DATA of each process, in bytes. The soft limit alone: what must map more than it uses
  /// (AddressSanitizer's shadow) may lift it, and a hog that does meets the OOM killer, to which it is
  /// offered.
  rlimit data;
};

/// The limits for a sandbox with that much memory, which only narrow those that are in force.
CommandLimits limits_for_memory(std::uint64_t bytes, const CommandLimits& in_force);

/// The limits for this sandbox.
CommandLimits command_limits();

/// Bytes of memory that this sandbox has: what its cgroup (v2 or v1) allows, or the machine's if that is
/// less.
std::uint64_t sandbox_memory();

/// Bytes by text of the form of memory.max or memory.limit_in_bytes; the largest number where it names no
/// limit.
std::uint64_t parse_memory_limit(std::string_view text);

/// The value of MemTotal in text of the form of /proc/meminfo, in bytes; the largest number where there is
/// none.
std::uint64_t parse_mem_total(std::string_view meminfo);

/// Makes the OOM killer prefer a command, and all that it starts from now on, to the agent. A preference, no
/// guarantee:
///
/// - To be called once the child has exec'd: as long as it shares the agent's memory, the kernel gives both
///   the same value (__set_oom_adj of fs/proc/base.c; but for a child of vfork(2), for which the agent's one
///   thread would have to stand still). Processes that the command started before that, in its first
///   instants, have the agent's own value: of those and the agent the largest is chosen.
/// - A command may write the agent's value back for its processes. Not where the agent has CAP_SYS_RESOURCE:
///   what is written here is the least then that they may have (Documentation/filesystems/proc.rst, 3.1).
///
/// @param pid of a child that has not been reaped, so that it cannot be another's
void offer_to_oom_killer(pid_t pid);

}  // namespace roombox
