#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/account.h"
#include "container/command_limits.h"
#include "container/process_tree.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"
#include "wasm/protocol/terminal.h"

namespace roombox {

/// Why a child never became its command.
struct LaunchFailure {
  enum class Step { Setup, Directory, Shell };
  Step step;
  int number;  ///< errno of the step.
};

/// What a command reads from.
enum class Stdin {
  Null,  ///< A descriptor of /dev/null that the caller has open.
  Pipe,  ///< A pipe that spawn makes.
};

/// What a command writes to.
enum class Output {
  Pipes,  ///< Two pipes that spawn makes.
  Stdin,  ///< What it reads from, of Stdin::Null.
};

/// A shell to run.
struct SpawnRequest {
  std::string shell;                       ///< Path of the shell.
  std::vector<std::string> arguments;      ///< Its arguments, argv[0] first.
  std::vector<std::string> environment;    ///< Its whole environment, as NAME=value.
  std::string directory;                   ///< Where it starts, entered with the account's rights.
  const Account* account = nullptr;        ///< Whom it runs as. Borrowed until it has exec'd.
  Tree* tree = nullptr;                    ///< Which it is to be the first process of. Borrowed by spawn.
  CommandLimits limits{};                  ///< What it is held to; see command_limits.
  Stdin stdin_kind = Stdin::Null;          ///< What it reads from.
  int stdin_fd = -1;                       ///< That of Stdin::Null. Borrowed by spawn.
  Output output = Output::Pipes;           ///< What it writes to.
  std::optional<TerminalSize> terminal{};  ///< Its three streams are a terminal of its own, of that size.

  /// Descriptors that it gets beside its streams, numbered from limits::kInherited on. Borrowed by spawn;
  /// none of them may have a number that is given.
  std::vector<int> inherited{};
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
  sys::Fd out;  ///< Read ends of its stdout and stderr, non-blocking; of a terminal one for both. Where there
                ///< are pipes.
  sys::Fd err;
  sys::Fd in;        ///< Write end of its stdin, non-blocking; of Stdin::Pipe and a terminal only.
  sys::Fd launched;  ///< Readable (its end) once the child has exec'd, or failed to, or died before.
  LaunchPtr launch;  ///< Keep until `launched` is readable or the child has been reaped.
};

/// Starts a shell in a session of its own, as the account, in the tree, with no descriptor but its three
/// streams and what it is to inherit.
///
/// Returns without waiting for the exec: the child borrows this process's memory (CLONE_VM, so nothing is
/// copied however big the agent is) but, unlike with vfork(2), does not stop it meanwhile. Whether the exec
/// came about is known once `launched` is readable: see launch_failure. That pipe cost 8 µs of the 4.5 ms
/// that `bash -c true` took on the same busy machine, so every child has one.
Result<Spawned, sys::Failure> spawn(SpawnRequest request);

/// Whether Spawned::launched is at its end. To be asked when it is told to be readable, for that may be said
/// of a descriptor that was closed in the same turn and whose state in Asio the new one has got: until its
/// end the child uses what Spawned::launch keeps.
bool has_launched(int launched);

/// Why the child did not become its command, or nullopt if it did, or was killed first. Call once
/// Spawned::launched is readable or the child was reaped.
std::optional<LaunchFailure> launch_failure(const Launch& launch);

/// The arguments by which `shell` runs `command` as with `-c`. A text longer than the kernel takes as one
/// argument is handed over in several, which the shell puts together again.
std::vector<std::string> shell_arguments(std::string_view shell, std::string_view command);

/// The arguments by which `shell` becomes a program that it looks for in PATH, with its arguments.
std::vector<std::string> program_arguments(std::string_view shell, std::string_view program,
                                           const std::vector<std::string>& arguments);

}  // namespace roombox
