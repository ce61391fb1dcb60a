#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "container/asio.h"
#include "container/sys/fd.h"

namespace roombox {

/// How a process ended, as the kernel told it.
struct Exit {
  std::optional<int> code;    ///< Exit status, if it exited.
  std::optional<int> signal;  ///< Signal number, if one ended it.
};

/// The one caller of waitid(2). Children that somebody watches are awaited by pidfd and reported once;
/// orphans, which this process inherits as PID 1 or as subreaper, are reaped and forgotten.
class Reaper {
 public:
  using ExitHandler = std::function<void(Exit)>;

  /// Makes this process the reaper of orphans below it. SIGCHLD must be blocked: it is read from a signalfd.
  explicit Reaper(asio::io_context& io);

  /// Reports the end of a child, once, from the io_context.
  void watch(pid_t pid, sys::Fd pidfd, ExitHandler on_exit);

  /// Reports a watched child's end now, if it has ended and is not reaped yet.
  void reap(pid_t pid);

  /// Reaps all that has ended by now, orphans and watched children; the ends of these are reported before it
  /// returns. After it nothing of a tree that was killed is left in /proc.
  void sweep();

  /// Signals a watched child. Nothing happens once it has been reaped: never does a stranger with the same
  /// pid get it.
  void signal(pid_t pid, int number);

 private:
  struct Child {
    Descriptor pidfd;
    ExitHandler on_exit;
  };

  void await_orphans();
  void sweep_orphans();
  bool reap_some(int count);

  asio::io_context& io_;
  Descriptor sigchld_;
  Timer sweep_;
  std::unordered_map<pid_t, Child> children_;
};

}  // namespace roombox
