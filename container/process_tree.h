#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "container/asio.h"

namespace roombox {

/// Each execution's processes carry a supplementary group id of their own: its mark. It is set before the
/// command starts and inherited by all that it starts, `setsid`, `nohup` and double-forked daemons too. Under
/// no_new_privs an unprivileged process cannot change its groups (setgroups(2) wants CAP_SETGID; in a user
/// namespace of its own it stays denied while the namespace has no mapping by a privileged writer,
/// user_namespaces(7)), so none can shed it.
class MarkRange {
 public:
  /// The marks that this user namespace can map, by text of the form of /proc/self/gid_map. They begin at a
  /// place that `random` chooses, so that two agents that see each other's processes rarely share one.
  MarkRange(std::string_view gid_map, std::uint32_t random);

  /// The next mark. Comes around only after the whole range was used.
  gid_t next();

 private:
  gid_t first_ = 0;
  gid_t last_ = 0;
  gid_t next_ = 0;
};

enum class TreeDeath {
  Complete,  ///< No process with the mark is left.
  Overdue,   ///< Some were killed but are not gone after limits::kTreeDeath.
};

/// Kills every process that carries the mark and calls `done`, from the io_context, once none is left.
/// Costs one pass over /proc a round; the end of each process is awaited, not polled for.
void kill_tree(asio::io_context& io, gid_t mark, std::function<void(TreeDeath)> done);

/// Signals SIGKILL to every process that carries the mark and one pass over /proc meets; for the end of this
/// process.
void kill_tree_once(gid_t mark);

/// Whether text of the form of /proc/pid/status is of a process that lives and carries the mark.
bool is_alive_with_mark(std::string_view status, gid_t mark);

}  // namespace roombox
