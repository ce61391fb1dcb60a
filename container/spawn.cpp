#include "container/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "container/limits.h"
#include "container/sys/clone.h"
#include "container/sys/raw_syscall.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/utf8.h"

namespace roombox {

using sys::raw_syscall;

/// Everything that the child reads, at addresses that stay; it allocates nothing. Also its stack.
class Launch {
 public:
  explicit Launch(SpawnRequest spawn_request)
      : request(std::move(spawn_request)),
        argv(pointers(request.arguments)),
        envp(pointers(request.environment)),
        groups{request.account->gid, request.tree->mark()} {}

  const SpawnRequest request;
  const std::vector<char*> argv;
  const std::vector<char*> envp;
  const std::array<gid_t, 2> groups;

  /// The same as plain fields: in the child no function is called, not even an accessor, since one that was
  /// not inlined could be instrumented.
  struct {
    const char* shell;
    char* const* argv;
    char* const* envp;
    const char* directory;
    const gid_t* groups;
    long group_count;
    long uid, gid;
    const rlimit* processes;
    const rlimit* data;
    bool has_terminal;
    const int* inherited;
    int inherited_count;
  } const plain{request.shell.c_str(),
                argv.data(),
                envp.data(),
                request.directory.c_str(),
                groups.data(),
                static_cast<long>(groups.size()),
                request.account->uid,
                request.account->gid,
                &request.limits.processes,
                &request.limits.data,
                request.terminal.has_value(),
                request.inherited.data(),
                static_cast<int>(request.inherited.size())};
  int in = -1;  ///< Its ends of the pipes, valid in the child's copy of the descriptor table.
  int out = -1;
  int err = -1;

  LaunchFailure failure{LaunchFailure::Step::Setup, 0};

  alignas(16) std::array<std::byte, 16 << 10> stack;

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (const auto& string : strings) out.push_back(const_cast<char*>(string.c_str()));
    out.push_back(nullptr);
    return out;
  }
};

void LaunchDeleter::operator()(Launch* launch) const {
  delete launch;
}

namespace {

/// Runs in the child, in the parent's memory and while the parent goes on: no libc, no allocation, no
/// instrumentation. Signals are blocked, as everywhere in the agent, until just before the exec, so no
/// handler runs here either.
///
/// From setresuid on the child is the user's process, yet shares the agent's memory until the exec. The
/// kernel makes that memory undumpable when the ids change, so the user can neither trace the child nor open
/// its /proc/pid/mem (ptrace(2)).
__attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread"))) int child(
    void* argument) {
  auto& launch = *static_cast<Launch*>(argument);
  const auto& plain = launch.plain;
  const unsigned long no_signals = 0;

  auto step = LaunchFailure::Step::Setup;
  long result = raw_syscall(SYS_setsid);
  if (result >= 0) result = raw_syscall(SYS_dup3, launch.in, STDIN_FILENO, 0);
  if (result >= 0) result = raw_syscall(SYS_dup3, launch.out, STDOUT_FILENO, 0);
  if (result >= 0) result = raw_syscall(SYS_dup3, launch.err, STDERR_FILENO, 0);
  if (result >= 0 && plain.has_terminal) result = raw_syscall(SYS_ioctl, STDIN_FILENO, TIOCSCTTY, 0);
  if (result >= 0) result = raw_syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
  for (int i = 0; i < plain.inherited_count && result >= 0; ++i)
    result = raw_syscall(SYS_dup3, plain.inherited[i], limits::kInherited + i, 0);
  if (result >= 0) result = raw_syscall(SYS_setgroups, plain.group_count, plain.groups);
  if (result >= 0) result = raw_syscall(SYS_setresgid, plain.gid, plain.gid, plain.gid);
  if (result >= 0) result = raw_syscall(SYS_setresuid, plain.uid, plain.uid, plain.uid);
  // After the user has changed: one that is over the limit of processes still gets its shell, as long as that
  // needs no other (execve(2) refuses who changed into a user that is over the limit).
  if (result >= 0) result = raw_syscall(SYS_prlimit64, 0, RLIMIT_NPROC, plain.processes, nullptr);
  if (result >= 0) result = raw_syscall(SYS_prlimit64, 0, RLIMIT_DATA, plain.data, nullptr);
  if (result >= 0) {
    step = LaunchFailure::Step::Directory;
    result = raw_syscall(SYS_chdir, plain.directory);
  }
  if (result >= 0) {
    step = LaunchFailure::Step::Shell;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, nullptr, sizeof no_signals);
    result = raw_syscall(SYS_execve, plain.shell, plain.argv, plain.envp);
  }
  launch.failure = {step, static_cast<int>(-result)};
  raw_syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

enum class Blocking { ReadEnd, WriteEnd };

struct Pipe {
  sys::Fd read_end, write_end;
};

/// @param blocking the child's end; ours is not
Result<Pipe, sys::Failure> open_pipe(Blocking blocking) {
  int ends[2];
  auto made = sys::call("pipe2", [&] { return ::pipe2(ends, O_CLOEXEC); });
  if (!made) return made.error();
  Pipe pipe{sys::Fd(ends[0]), sys::Fd(ends[1])};
  const int ours = blocking == Blocking::ReadEnd ? pipe.write_end.get() : pipe.read_end.get();
  auto set = sys::call("fcntl", [&] { return ::fcntl(ours, F_SETFL, O_NONBLOCK); });
  if (!set) return set.error();
  return pipe;
}

/// A pseudoterminal: our end, non-blocking, and the command's, which is the account's.
Result<Pipe, sys::Failure> open_terminal(TerminalSize size, const Account& account) {
  constexpr int kOpen = O_RDWR | O_NOCTTY | O_CLOEXEC;
  auto ours = sys::call("posix_openpt", [] { return ::posix_openpt(kOpen | O_NONBLOCK); });
  if (!ours) return ours.error();
  Pipe terminal{sys::Fd(*ours), {}};
  int locked = 0;
  auto unlocked = sys::call("ioctl", [&] { return ::ioctl(*ours, TIOCSPTLCK, &locked); });
  if (!unlocked) return unlocked.error();
  auto theirs = sys::call("ioctl", [&] { return ::ioctl(*ours, TIOCGPTPEER, kOpen); });
  if (!theirs) return theirs.error();
  terminal.write_end = sys::Fd(*theirs);
  const winsize cells{size.rows, size.cols, 0, 0};
  auto sized = sys::call("ioctl", [&] { return ::ioctl(*ours, TIOCSWINSZ, &cells); });
  if (!sized) return sized.error();
  auto given = sys::call("fchown", [&] { return ::fchown(*theirs, account.uid, static_cast<gid_t>(-1)); });
  if (!given) return given.error();
  return terminal;
}

/// Starts the child, in the tree's cgroup if it has one and the kernel lets it be born there.
Result<pid_t, sys::Failure> start(Launch& launch, Tree& tree, int& pidfd) {
  constexpr int kFlags = CLONE_VM | CLONE_PIDFD;
  if (tree.cgroup_directory() >= 0) {
    clone_args arguments{};
    arguments.flags = kFlags | CLONE_INTO_CGROUP;
    arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    arguments.exit_signal = SIGCHLD;
    arguments.stack = reinterpret_cast<std::uintptr_t>(launch.stack.data());
    arguments.stack_size = launch.stack.size();
    arguments.cgroup = static_cast<std::uint64_t>(tree.cgroup_directory());
    const long pid = sys::clone3_onto_stack(arguments, child, &launch);
    if (pid >= 0) return static_cast<pid_t>(pid);
    tree.forgo_cgroup();
  }
  return sys::call("clone", [&] {
    return ::clone(child, launch.stack.data() + launch.stack.size(), kFlags | SIGCHLD, &launch, &pidfd);
  });
}

}  // namespace

namespace {

/// What a command reads from and writes to: our ends, and the command's.
struct Streams {
  sys::Fd in, out, err;
  sys::Fd their_in, their_out, their_err;
};

Result<Streams, sys::Failure> open_pipes(Stdin kind, Output output) {
  Streams streams;
  if (kind == Stdin::Pipe) {
    auto in = open_pipe(Blocking::ReadEnd);
    if (!in) return in.error();
    streams.in = std::move(in->write_end);
    streams.their_in = std::move(in->read_end);
  }
  if (output == Output::Stdin) return streams;
  auto out = open_pipe(Blocking::WriteEnd);
  if (!out) return out.error();
  auto err = open_pipe(Blocking::WriteEnd);
  if (!err) return err.error();
  streams.out = std::move(out->read_end);
  streams.err = std::move(err->read_end);
  streams.their_out = std::move(out->write_end);
  streams.their_err = std::move(err->write_end);
  return streams;
}

Result<Streams, sys::Failure> open_streams(const SpawnRequest& request) {
  if (!request.terminal) return open_pipes(request.stdin_kind, request.output);
  auto terminal = open_terminal(*request.terminal, *request.account);
  if (!terminal) return terminal.error();
  auto in = sys::call("fcntl", [&] { return ::fcntl(terminal->read_end.get(), F_DUPFD_CLOEXEC, 0); });
  if (!in) return in.error();
  Streams streams;
  streams.in = sys::Fd(*in);
  streams.out = std::move(terminal->read_end);
  streams.their_out = std::move(terminal->write_end);
  return streams;
}

}  // namespace

Result<Spawned, sys::Failure> spawn(SpawnRequest request) {
  auto streams = open_streams(request);
  if (!streams) return streams.error();
  auto launched = open_pipe(Blocking::WriteEnd);
  if (!launched) return launched.error();
  if (!request.inherited.empty()) {  // the child must hold it until it execs: out of the way of what it gets
    auto moved = sys::move_above(launched->write_end, limits::kInheritedEnd);
    if (!moved) return moved.error();
  }

  Tree& tree = *request.tree;
  LaunchPtr launch(new Launch(std::move(request)));
  const bool has_terminal = launch->plain.has_terminal;
  const bool writes_to_stdin = launch->request.output == Output::Stdin;
  launch->out = writes_to_stdin ? launch->request.stdin_fd : streams->their_out.get();
  launch->err = has_terminal || writes_to_stdin ? launch->out : streams->their_err.get();
  launch->in = has_terminal        ? launch->out
               : streams->their_in ? streams->their_in.get()
                                   : launch->request.stdin_fd;
  int pidfd = -1;
  auto pid = start(*launch, tree, pidfd);
  if (!pid) return pid.error();
  return Spawned{*pid,
                 sys::Fd(pidfd),
                 std::move(streams->out),
                 std::move(streams->err),
                 std::move(streams->in),
                 std::move(launched->read_end),
                 std::move(launch)};
}

bool has_launched(int launched) {
  char none;
  const auto size = sys::call("read", [&] { return ::read(launched, &none, sizeof none); });
  return size && *size == 0;
}

std::optional<LaunchFailure> launch_failure(const Launch& launch) {
  if (launch.failure.number == 0) return std::nullopt;
  return launch.failure;
}

std::vector<std::string> shell_arguments(std::string_view shell, std::string_view command) {
  const std::string name(shell.substr(shell.rfind('/') + 1));
  if (command.size() <= limits::kArgument) return {name, "-c", "--", std::string(command)};

  // `set --` runs inside the eval, after its argument was put together: the command sees no positional
  // parameters.
  std::vector<std::string> arguments{name, "-c", {}, name};
  std::string script = "eval \"set --;";
  for (int number = 1; !command.empty(); ++number) {
    const auto part = utf8::prefix(command, limits::kArgument);
    arguments.emplace_back(part);
    script += "${" + std::to_string(number) + "}";
    command.remove_prefix(part.size());
  }
  arguments[2] = script + "\"";
  return arguments;
}

std::vector<std::string> program_arguments(std::string_view shell, std::string_view program,
                                           const std::vector<std::string>& arguments) {
  const std::string name(shell.substr(shell.rfind('/') + 1));
  std::vector<std::string> all{name, "-c", "exec \"$@\"", name, std::string(program)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace roombox
