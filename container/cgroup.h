#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container/asio.h"
#include "container/sys/fd.h"

namespace roombox {

/// The directory of the cgroup (v2) that this process is in, by text of the form of /proc/self/mountinfo and
/// of /proc/self/cgroup; nullopt where none is mounted, or not the part that has it.
std::optional<std::string> own_cgroup(std::string_view mountinfo, std::string_view cgroup);

/// What a cgroup's processes may take together.
struct CgroupCaps {
  std::uint64_t processes;  ///< pids.max
  std::uint64_t memory;     ///< memory.max, in bytes
};

/// One place in the cgroup hierarchy, for one execution at a time; removed at the end of its owner, if it is
/// empty by then. Its files are root's, so no process of an unprivileged user leaves it or makes another
/// below it.
///
/// It is two directories: the outer has the caps, the inner, without controllers of its own, the processes. A
/// kill uses up the inner alone, which is cheap to replace. The outer stays: a memory cgroup that is removed
/// lives on in the kernel until the last page cache that was charged to it is gone, and thousands of timeouts
/// would leave thousands.
class Cgroup {
 public:
  /// Null where it cannot be made. @param parent borrowed descriptor of the directory above, outlives this
  static std::unique_ptr<Cgroup> make(int parent, std::string name);
  ~Cgroup();

  /// Sets its caps, by those controllers that are delegated to its parent.
  void confine(const CgroupCaps& caps);

  /// Makes one that was killed usable again, if it is empty. False where it cannot: then it is of no more
  /// use.
  bool renew();

  /// For CLONE_INTO_CGROUP.
  int directory() const { return directory_.get(); }

  /// SIGKILL to every process in it, those that are being forked too, in one step (cgroup.kill). False where
  /// that failed. It is no use to later processes: Linux 6.12 and later (6.18 was tried) take one that is
  /// born into a cgroup by CLONE_INTO_CGROUP for one that was being forked as the cgroup was killed, however
  /// long ago that was, and kill it.
  bool kill();

  /// Those in it, as this process's PID namespace numbers them; without zombies.
  std::vector<pid_t> processes() const;

  /// Whether the process with that number is in it.
  bool holds(pid_t pid) const;

  /// Whether a process is in it that has not ended; true where it cannot be told.
  bool is_populated() const;

  /// Its cgroup.events, for CgroupEmptied.
  sys::Fd open_events() const;

 private:
  friend class Cgroups;
  Cgroup(int parent, std::string name) : parent_(parent), name_(std::move(name)) {}
  bool make_inner();

  int parent_;
  std::string name_;
  sys::Fd outer_;
  sys::Fd directory_;  ///< The inner one.
  sys::Fd events_;
  bool killed_ = false;
  std::string path_;  ///< How a line of /proc/pid/cgroup ends.
};

/// Waits, without polling, until a cgroup is empty.
class CgroupEmptied {
 public:
  CgroupEmptied(asio::io_context& io, const Cgroup& cgroup);
  CgroupEmptied(const CgroupEmptied&) = delete;
  ~CgroupEmptied() { close(); }

  /// False where there was no descriptor left for it: then there is nothing to wait on.
  bool is_open() const { return events_->is_open(); }

  /// Asks the kernel now.
  bool is_empty() const;

  /// Waits no more.
  void close();

  /// Calls back from the io_context once the cgroup is empty, if it is already too. Not if this ends first,
  /// unless the call is on its way.
  void async_wait(std::function<void()> done);

 private:
  static void wait(std::shared_ptr<Descriptor> events, std::function<void()> done);

  std::shared_ptr<Descriptor> events_;
};

/// The agent's own subtree of the hierarchy. Lives in the io_context's thread.
///
/// An empty cgroup is used again: to make and remove one for each execution cost 13 % of
/// `bash -c true` (mkdir 53 µs, clone3 62 µs more than clone, rmdir 39 µs, the rest in the kernel's workers),
/// to use one again 0.3 % (measured with 300 spawns of each kind in turn, 4.5 ms each on a busy machine).
class Cgroups : public std::enable_shared_from_this<Cgroups> {
 public:
  /// Makes the subtree below a directory of the hierarchy and tries it out with a child of its own. Null, and
  /// `why` told, where that fails.
  static std::shared_ptr<Cgroups> open(asio::io_context& io, const std::string& parent, std::uint32_t random,
                                       std::string& why);
  ~Cgroups();

  /// An empty one. Null where none can be had; the caller then does without.
  std::unique_ptr<Cgroup> take();

  /// Back for the next. One that still has processes waits until they have ended.
  void put_back(std::unique_ptr<Cgroup> cgroup);

  /// Touches the io_context no more: what is put back from now on is only removed.
  void close();

  /// Holds all commands together, and each cgroup of its own, by those controllers that are
  /// delegated to us; the rest is left to the limits of each process. Who is over memory.max is not killed
  /// with all of its execution (memory.oom.group): a shell that lives tells of the program that did not.
  void confine(const CgroupCaps& all, const CgroupCaps& each);

  /// Directory of the subtree, absolute.
  const std::string& path() const { return path_; }

  /// How many wait for processes that outlive their execution.
  std::size_t lingering() const { return lingering_.size(); }

 private:
  struct Lingering {
    std::unique_ptr<Cgroup> cgroup;
    std::unique_ptr<CgroupEmptied> emptied;
  };

  explicit Cgroups(asio::io_context& io) : io_(io) {}
  void linger(std::unique_ptr<Cgroup> cgroup);

  asio::io_context& io_;
  bool closed_ = false;
  std::string path_, name_;
  sys::Fd parent_;
  sys::Fd subtree_;                 ///< Locked: that tells other agents that it is in use.
  std::optional<CgroupCaps> caps_;  ///< Of each.
  std::vector<std::unique_ptr<Cgroup>> spare_;
  std::unordered_map<const Cgroup*, Lingering> lingering_;
  std::vector<std::unique_ptr<Cgroup>> unwatched_;  ///< Those for whose wait there was no descriptor.
  std::uint64_t count_ = 0;
};

}  // namespace roombox
