#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "container/asio.h"
#include "container/counters.h"

namespace roombox {

class Cgroup;
class Cgroups;

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

/// One execution's processes, from before the first of them is born. At its end its cgroup goes back to the
/// ProcessTrees that it came from, which it may outlive; processes that still run are left alone.
class Tree {
 public:
  Tree();
  Tree(Tree&& other) noexcept;
  Tree& operator=(Tree&& other) noexcept;
  ~Tree();

  /// The group id that all its processes carry.
  gid_t mark() const { return mark_; }

  /// The cgroup that its first process is to be born into (CLONE_INTO_CGROUP); -1 where it has none.
  /// Borrowed.
  int cgroup_directory() const;

  /// For a first process that could not be born into the cgroup: the mark alone tells the tree from now on.
  void forgo_cgroup();

 private:
  friend class ProcessTrees;
  void release();

  gid_t mark_ = 0;
  std::shared_ptr<Cgroups> cgroups_;
  std::unique_ptr<Cgroup> cgroup_;
};

enum class TreeDeath {
  Complete,  ///< No process of the tree is left.
  Overdue,   ///< Some are not gone after limits::kTreeDeath; they are killed on until none is left.
};

/// How processes are found that are to be killed.
enum class KillMethod {
  Auto,    ///< Cgroup where that is possible, else Mark.
  Cgroup,  ///< By a cgroup (v2) for each execution: one write kills all of it. Costs next to nothing.
  Mark,    ///< By passes over /proc for the mark, which all kills of a moment share.
};

class MarkKiller;

/// The one keeper of process trees: marks them, gives them cgroups, signals and kills them. Lives in the
/// io_context's thread.
class ProcessTrees {
 public:
  /// Throws std::runtime_error where there is no room for marks, or no cgroup and `method` demands one.
  /// @param gid_map text of the form of /proc/self/gid_map
  /// @param random chooses where marks begin, and the name of the agent's subtree of cgroups
  ProcessTrees(asio::io_context& io, KillMethod method, std::string_view gid_map, std::uint32_t random);
  ~ProcessTrees();

  /// A new tree, without a process.
  Tree begin();

  /// Kills every process of the tree and calls `done`, from the io_context, once none is left; those that
  /// have ended may still have to be reaped. The end of each process is awaited, not polled for. The tree may
  /// end meanwhile.
  ///
  /// A first process that has not come as far as to carry the mark is not found by it: kill that one too, by
  /// Reaper::signal, before.
  void kill(const Tree& tree, std::function<void(TreeDeath)> done);

  /// Signals every process of the tree that is met in one pass. A child that has not exec'd yet may be missed
  /// (Spawned::launched tells when it has).
  void signal(const Tree& tree, int number);

  /// Signals SIGKILL to all processes of the tree that are met in one pass, at once; for the end of this
  /// process.
  void kill_once(const Tree& tree);

  /// Holds all trees together to so many processes and bytes of memory, and each tree to most of them
  /// (limits::kOneExecutionPercent), where cgroups can do that.
  void confine(std::uint64_t processes, std::uint64_t memory);

  /// Cgroup or Mark.
  KillMethod method() const { return cgroups_ ? KillMethod::Cgroup : KillMethod::Mark; }

  /// Directory of the agent's subtree of cgroups; empty where it has none.
  std::string cgroup_path() const;

  /// Trees that have ended before their processes, by cgroups.
  std::size_t lingering() const;

  const KillCounters& counters() const { return *counters_; }

 private:
  std::function<void(TreeDeath)> counted(std::function<void(TreeDeath)> done) const;

  asio::io_context& io_;
  MarkRange marks_;
  std::shared_ptr<MarkKiller> killer_;
  std::shared_ptr<Cgroups> cgroups_;
  /// Shared by kills that are under way.
  const std::shared_ptr<KillCounters> counters_ = std::make_shared<KillCounters>();
};

/// Whether text of the form of /proc/pid/status is of a process that lives and carries the mark.
bool is_alive_with_mark(std::string_view status, gid_t mark);

}  // namespace roombox
