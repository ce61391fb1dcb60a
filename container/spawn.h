#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/account.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox {

/// Why a child never became its command.
struct LaunchFailure {
  enum class Step { Setup, Directory, Shell };
  Step step;
  int number;  ///< errno of the step.
};

/// A shell to run.
struct SpawnRequest {
  std::string shell;                     ///< Path of the shell.
  std::vector<std::string> arguments;    ///< Its arguments, argv[0] first.
  std::vector<std::string> environment;  ///< Its whole environment, as NAME=value.
  std::string directory;                 ///< Where it starts, entered with the account's rights.
  const Account* account = nullptr;      ///< Whom it runs as.
  gid_t mark = 0;                        ///< Supplementary group that marks its tree; see process_tree.h.
  int stdin_fd = -1;                     ///< Borrowed.
};

/// What a child borrows from its parent's memory until it has exec'd or is gone.
class Launch;
struct LaunchDeleter {
  void operator()(Launch*) const;
};
using LaunchPtr = std::unique_ptr<Launch, LaunchDeleter>;

/// A child on its way into its command.
struct Spawned {
  pid_t pid;
  sys::Fd pidfd;
  sys::Fd out;  ///< Read ends of its stdout and stderr, non-blocking.
  sys::Fd err;
  LaunchPtr launch;  ///< Keep until the child has been reaped.
};

/// Starts a shell in a session of its own, as the account, with no descriptor but its three streams.
///
/// Returns without waiting for the exec: the child borrows this process's memory (CLONE_VM, so nothing is
/// copied however big the agent is) but, unlike with vfork(2), does not stop it meanwhile. Whether the exec
/// came about is known once the child is reaped: see launch_failure.
Result<Spawned, sys::Failure> spawn(SpawnRequest request);

/// Why the child ended before it became its command, or nullopt if it did become it. Call after it was
/// reaped.
std::optional<LaunchFailure> launch_failure(const Launch& launch);

/// The arguments by which `shell` runs `command` as with `-c`. A text longer than the kernel takes as one
/// argument is handed over in several, which the shell puts together again.
std::vector<std::string> shell_arguments(std::string_view shell, std::string_view command);

}  // namespace roombox
