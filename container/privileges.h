#pragma once

namespace roombox {

/// Bars this process, and all that it starts, from privileges by what they execute: no_new_privs, an empty
/// bounding set, no ambient capabilities. Throws std::runtime_error where the kernel has no no_new_privs.
void bar_new_privileges();

/// Whom /proc shows a command beside the processes of its own user.
enum class ProcView {
  All,  ///< Everybody: that the agent runs, not what it holds.
  Own,  ///< Nobody.
};

/// Has /proc show a command its own user's processes alone (hidepid=invisible, proc(5)), if this process is
/// PID 1 of its own /proc, which therefore is the sandbox's and no host's, and may mount: Docker's default
/// set of capabilities lacks that. The agent itself, of group 0, goes on to see all.
/// @return what holds now
ProcView hide_from_commands();

/// Gives up, for good, the capabilities of the calling thread that the agent needs no more once it serves,
/// and keeps its memory from the files of a crash, which are its host's. Throws std::runtime_error where it
/// cannot.
void drop_privileges();

}  // namespace roombox
