#include "container/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "container/cgroup.h"
#include "container/limits.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"
#include "container/sys/file.h"
#include "container/sys/parse.h"

namespace roombox {
namespace {

using sys::parse;

/// Group ids below are an image's own, or systemd's dynamic ones; marks start above where the mapping has
/// room.
constexpr gid_t kFirstMark = 0x1000'0000;

std::string_view next_token(std::string_view& text) {
  const auto begin = std::min(text.find_first_not_of(" \t"), text.size());
  const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const auto token = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return token;
}

/// What follows `name` at the beginning of a line, up to its end.
std::string_view line(std::string_view status, std::string_view name) {
  const auto begin = status.find(name);
  if (begin == status.npos) return {};
  const auto from = begin + name.size();
  return status.substr(from, status.find('\n', from) - from);
}

/// Whether `is_it` of one of the process's supplementary groups.
template <typename Predicate>
bool any_group(std::string_view status, Predicate is_it) {
  auto groups = line(status, "\nGroups:");
  while (!groups.empty()) {
    const auto group = parse<gid_t>(next_token(groups));
    if (group && is_it(*group)) return true;
  }
  return false;
}

/// A zombie may be the ended main thread of a process whose other threads run on.
bool is_alive(std::string_view status) {
  auto state = line(status, "\nState:");
  auto threads = line(status, "\nThreads:");
  const auto letter = next_token(state);
  return (letter != "Z" && letter != "X") || parse<int>(next_token(threads)).value_or(0) > 1;
}

bool is_stopped(std::string_view status) {
  auto state = line(status, "\nState:");
  return next_token(state) == "T";
}

/// A /proc/pid/status. Its Groups line comes after a name of 16 bytes at most and a few numbers, so the first
/// pages hold it, unless a process has thousands of groups, which ours have not.
std::optional<std::string_view> read_status(int proc, const char* pid, std::array<char, 8192>& buffer) {
  const auto path = std::string(pid) + "/status";
  sys::Fd file(::openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  auto size = sys::call("read", [&] { return ::read(file.get(), buffer.data(), buffer.size()); });
  if (!size) return std::nullopt;
  return std::string_view(buffer.data(), static_cast<std::size_t>(*size));
}

/// Calls back with the number and the name of each process, and the descriptor of /proc. False where /proc
/// could not be read.
template <typename Visit>
bool for_each_process(Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return false;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (const auto pid = parse<pid_t>(entry->d_name)) visit(*pid, entry->d_name, ::dirfd(proc.get()));
  }
  return true;
}

sys::Fd open_pidfd(pid_t pid) {
  return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool send_signal(const sys::Fd& pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) == 0;
}

/// Whether a system call failed for want of something of ours, rather than since its object is gone.
bool is_shortage(int number) {
  return number == EMFILE || number == ENFILE || number == ENOMEM;
}

/// Calls back with the pidfd and the status of each process that one pass over /proc meets, that lives and
/// has a mark that `is_it`.
template <typename Predicate, typename Visit>
void for_each_marked(Predicate is_it, Visit visit) {
  std::array<char, 8192> buffer;
  for_each_process([&](pid_t pid, const char* name, int proc) {
    const sys::Fd pidfd = open_pidfd(pid);  // before its status is read: see MarkKiller::look
    const auto status = pidfd ? read_status(proc, name, buffer) : std::nullopt;
    if (status && is_alive(*status) && any_group(*status, is_it)) visit(pidfd, *status);
  });
}

/// Signals each process with the mark that one pass meets.
void signal_marked(gid_t mark, int number) {
  for_each_marked([mark](gid_t group) { return group == mark; },
                  [number](const sys::Fd& pidfd, std::string_view) { send_signal(pidfd, number); });
}

/// Signals each process in the cgroup. It has no other below it: only root could make one.
void signal_cgroup(const Cgroup& cgroup, int number) {
  for (const pid_t pid : cgroup.processes()) {
    const sys::Fd pidfd = open_pidfd(pid);
    // Another may have got the number since; the one that was in the cgroup then gets no signal either.
    if (pidfd && cgroup.holds(pid)) send_signal(pidfd, number);
  }
}

/// The processes that are stopped, by whomever.
std::unordered_set<pid_t> stopped_processes() {
  std::unordered_set<pid_t> stopped;
  std::array<char, 8192> buffer;
  for_each_process([&](pid_t pid, const char* name, int proc) {
    const auto status = read_status(proc, name, buffer);
    if (status && is_stopped(*status)) stopped.insert(pid);
  });
  return stopped;
}

/// Waits for the end of processes. Owned by what `owner` is of, which the wait keeps.
class Deaths {
 public:
  explicit Deaths(asio::io_context& io) : io_(io) {}

  /// Calls back from the io_context once all have ended, if there are any.
  void await(std::vector<sys::Fd> pidfds, const std::shared_ptr<void>& owner,
             std::function<void()> all_dead) {
    forget();
    awaited_.reserve(pidfds.size());
    left_ = pidfds.size();
    all_dead_ = std::move(all_dead);
    for (auto& pidfd : pidfds) {
      awaited_.emplace_back(io_, pidfd.release());
      wait(awaited_.size() - 1, owner);
    }
  }

  /// Waits no more.
  void forget() {
    ++round_;  // wakes of these may be on their way
    left_ = 0;
    awaited_.clear();
    all_dead_ = nullptr;
  }

  bool pending() const { return left_ > 0; }
  std::size_t size() const { return awaited_.size(); }

 private:
  void wait(std::size_t index, const std::shared_ptr<void>& owner) {
    awaited_[index].async_wait(asio::posix::descriptor_base::wait_read,
                               [this, owner, index, round = round_](boost::system::error_code ec) {
                                 if (ec || round != round_) return;
                                 // A wake may be for a descriptor that had this number before.
                                 if (!is_readable(awaited_[index].native_handle())) return wait(index, owner);
                                 if (--left_ > 0) return;
                                 awaited_.clear();
                                 std::exchange(all_dead_, nullptr)();
                               });
  }

  /// Of a pidfd: whether its process has ended.
  static bool is_readable(int fd) {
    pollfd asked{fd, POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
  }

  asio::io_context& io_;
  unsigned round_ = 0;
  std::vector<Descriptor> awaited_;
  std::size_t left_ = 0;
  std::function<void()> all_dead_;
};

/// The kill of one cgroup: the kernel does it in one step, here its end is awaited.
class CgroupKill : public std::enable_shared_from_this<CgroupKill> {
 public:
  CgroupKill(asio::io_context& io, const Cgroup& cgroup, std::function<void(TreeDeath)> done)
      : io_(io), deadline_(io), deaths_(io), emptied_(io, cgroup), done_(std::move(done)) {}

  /// False, and nothing will be called, where the kernel does not do it.
  bool start(Cgroup& cgroup) {
    if (!emptied_.is_open()) return false;
    std::vector<sys::Fd> pidfds;
    for (const pid_t pid : cgroup.processes()) {
      sys::Fd pidfd = pidfds.size() < limits::kKillBatch ? open_pidfd(pid) : sys::Fd();
      if (pidfd) pidfds.push_back(std::move(pidfd));
    }
    if (!cgroup.kill()) return false;
    deadline_.expires_after(limits::kTreeDeath);
    deadline_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
      if (!cancelled) self->finish(TreeDeath::Overdue);
    });
    // A process leaves its cgroup a little before it can be reaped, so that is awaited too: who is told of a
    // tree's death finds it gone once he has reaped. For most of it the kernel has told then that the cgroup
    // is empty, too; at the latest 10 ms later (CGROUP_FILE_NOTIFY_MIN_INTV of kernel/cgroup/cgroup.c).
    deaths_.await(std::move(pidfds), shared_from_this(), [this] { finish_if_over(); });
    emptied_.async_wait([self = shared_from_this()] {
      self->empty_ = true;
      self->finish_if_over();
    });
    return true;
  }

 private:
  void finish_if_over() {
    if (!deaths_.pending() && (empty_ || emptied_.is_empty())) finish(TreeDeath::Complete);
  }

  void finish(TreeDeath death) {
    deadline_.cancel();
    deaths_.forget();
    emptied_.close();
    if (auto done = std::exchange(done_, nullptr)) asio::post(io_, [done, death] { done(death); });
  }

  asio::io_context& io_;
  Timer deadline_;
  Deaths deaths_;
  CgroupEmptied emptied_;
  bool empty_ = false;
  std::function<void(TreeDeath)> done_;
};

/// The kill of one tree by its mark: what passes over /proc have come to so far.
struct MarkKill {
  MarkKill(asio::io_context& io, gid_t mark_of_tree) : mark(mark_of_tree), deadline(io), deaths(io) {}

  gid_t mark;
  Timer deadline;  ///< Of those who wait; with none left, of a death that is awaited.
  Deaths deaths;
  std::vector<std::function<void(TreeDeath)>> done;  ///< Those who wait; none once they were told of Overdue.
  std::chrono::milliseconds patience = limits::kTreeDeath;  ///< With a death, once nobody waits.
  std::unordered_set<pid_t>
      zombies;  ///< Those met in earlier passes; a new one counts as one that went away.
  int empty_passes = 0;
  int undecided_passes = 0;
  int met_passes = 0;  ///< Those that met some, in all.

  // Of the newest pass:
  std::vector<sys::Fd> killed;  ///< Those killed, a batch at most.
  bool met = false;             ///< Some were killed.
  bool undecided = false;  ///< One went away as it was looked at: it may have left a child behind the pass.
  bool stopped = false;    ///< It was a pass over a sandbox that stood still, which proves what it met.
};

}  // namespace

/// Kills trees by their marks. One pass over /proc serves all kills that wait for one: it costs some 10 µs
/// for each process of the sandbox. 150 timeouts of a moment, 450 processes, were answered 0.4 s late at the
/// median and 0.7 s at most on a busy machine; 9.5 and 11.7 s in the same minute when each kill made passes
/// of its own (by cgroups: 0.04 and 0.4 s).
///
/// A kill ends with its tree, not with the patience of who asked for it: a fork bomb that has the machine to
/// itself may live for longer than anybody waits, and grow back from one process that was not met.
class MarkKiller : public std::enable_shared_from_this<MarkKiller> {
 public:
  explicit MarkKiller(asio::io_context& io) : io_(io), blind_(io) {}

  void kill(gid_t mark, std::function<void(TreeDeath)> done) {
    auto& kill = kills_[mark];
    const bool runs = kill != nullptr;
    if (!runs) kill = std::make_shared<MarkKill>(io_, mark);
    kill->done.push_back(std::move(done));
    if (kill->done.size() == 1) set_deadline(kill, limits::kTreeDeath);
    runs ? restart(*kill) : want_pass(kill);
  }

 private:
  using Kills = std::vector<std::shared_ptr<MarkKill>>;

  /// Passes that went before a second kill was asked for prove nothing to it.
  static void restart(MarkKill& kill) { kill.empty_passes = kill.undecided_passes = 0; }

  /// Tells those who wait then, and goes on with a pass: one that is awaited may be stuck, others forked
  /// since.
  void set_deadline(const std::shared_ptr<MarkKill>& kill, std::chrono::milliseconds after) {
    kill->deadline.expires_after(after);
    kill->deadline.async_wait([self = shared_from_this(), kill](boost::system::error_code cancelled) {
      if (cancelled) return;
      self->tell(*kill, TreeDeath::Overdue);
      if (!kill->deaths.pending()) return;  // its next pass is on its way
      kill->deaths.forget();
      self->want_pass(kill);
    });
  }

  void want_pass(std::shared_ptr<MarkKill> kill) {
    waiting_.push_back(std::move(kill));
    if (waiting_.size() == 1) asio::post(io_, [self = shared_from_this()] { self->pass(); });
  }

  void pass() {
    Kills kills = std::exchange(waiting_, {});
    if (!look(kills)) return retry(std::move(kills));

    Kills crowds, stubborn;
    for (const auto& kill : kills) {
      if (kill->met ? ++kill->met_passes > limits::kMetPasses
                    : kill->undecided && ++kill->undecided_passes >= limits::kUndecidedPasses)
        stubborn.push_back(kill);
      else if (kill->killed.size() >= limits::kCrowd)
        crowds.push_back(kill);
    }
    if (!crowds.empty()) look_held(crowds);
    if (!stubborn.empty()) ::getpid() == 1 ? look_stopped(stubborn) : look_held(stubborn);
    for (const auto& kill : kills) conclude(kill);
  }

  void conclude(const std::shared_ptr<MarkKill>& kill) {
    if (kill->met) return await_death(kill);
    // Twice, for one that slipped behind a pass without being seen to go. Outside of a PID namespace of our
    // own others may not be stopped for a proof, so there a few undecided passes must do.
    const bool enough = kill->undecided_passes >= limits::kUndecidedPasses && ::getpid() != 1;
    if (!kill->undecided || enough) ++kill->empty_passes;
    if (kill->stopped || kill->empty_passes == 2) return finish(*kill);
    want_pass(kill);
  }

  /// Kills what one pass over /proc meets. False where it could not look, for want of descriptors or memory:
  /// then what it met has been killed, but what it did not meet is not known to be gone.
  bool look(const Kills& kills) {
    std::unordered_map<gid_t, MarkKill*> by_mark;
    for (const auto& kill : kills) {
      by_mark[kill->mark] = kill.get();
      kill->killed.clear();
      kill->met = kill->undecided = kill->stopped = false;
    }
    bool some_went_away = false, blind = false;
    std::size_t awaited = 0;
    for (const auto& [mark, kill] : kills_) awaited += kill->deaths.size();
    std::array<char, 8192> buffer;
    const bool listed = for_each_process([&](pid_t pid, const char* name, int proc) {
      // Opened before its status is read. If the status is that of a later process of the same pid, then this
      // one is gone and the signal below goes to nobody: a stranger is never hit.
      errno = 0;
      sys::Fd pidfd = open_pidfd(pid);
      const auto status = pidfd ? read_status(proc, name, buffer) : std::nullopt;
      if (!status) {
        (is_shortage(errno) ? blind : some_went_away) = true;
      } else if (MarkKill* kill = find_by_mark(by_mark, *status)) {
        if (!is_alive(*status)) {
          kill->undecided |= kill->zombies.insert(pid).second;
        } else if (!send_signal(pidfd, SIGKILL)) {
          kill->undecided = true;
        } else {
          kill->met = true;
          if (kill->killed.size() < limits::kKillBatch && awaited++ < limits::kKillsBatch)
            kill->killed.push_back(std::move(pidfd));
        }
      }
    });
    for (const auto& kill : kills) kill->undecided |= some_went_away;
    return listed && !blind;
  }

  /// Stops the whole sandbox for one pass. kill(2) of -1 signals all processes in one step that no fork(2)
  /// can slip through, so that even a tree that forks and exits in turn, faster than a pass can look, stands
  /// still to be met. Precondition: this process is PID 1 of a PID namespace, and so all others are the
  /// sandbox's.
  void look_stopped(const Kills& kills) {
    const auto stopped_before = stopped_processes();
    ::kill(-1, SIGSTOP);
    const bool looked = look(kills);
    for (const auto& kill : kills) kill->stopped = looked && !kill->met;
    for_each_process([&](pid_t pid, const char*, int) {
      if (pid != 1 && !stopped_before.contains(pid)) ::kill(pid, SIGCONT);
    });
  }

  /// The same where others may not be stopped, or need not: stops the trees alone, pass by pass, until none
  /// of them runs. A process that is killed gives its place under RLIMIT_NPROC to the next fork, and so a
  /// fork bomb can outlast the kill of each; one that is stopped keeps it, and the bomb runs out of places.
  void look_held(const Kills& kills) {
    std::unordered_set<gid_t> marks;
    for (const auto& kill : kills) marks.insert(kill->mark);
    bool some_ran = true;
    for (int pass = 0; some_ran && pass < limits::kHoldPasses; ++pass) {
      some_ran = false;
      for_each_marked([&](gid_t group) { return marks.contains(group); },
                      [&](const sys::Fd& pidfd, std::string_view status) {
                        if (!is_stopped(status)) some_ran |= send_signal(pidfd, SIGSTOP);
                      });
    }
    look(kills);
  }

  static MarkKill* find_by_mark(const std::unordered_map<gid_t, MarkKill*>& by_mark,
                                std::string_view status) {
    MarkKill* found = nullptr;
    any_group(status, [&](gid_t group) {
      const auto kill = by_mark.find(group);
      if (kill != by_mark.end()) found = kill->second;
      return found != nullptr;
    });
    return found;
  }

  void await_death(const std::shared_ptr<MarkKill>& kill) {
    kill->empty_passes = kill->undecided_passes = 0;
    if (kill->killed.empty()) return want_pass(kill);  // others have all the descriptors
    if (kill->done.empty()) {
      set_deadline(kill, kill->patience);
      kill->patience = std::min(kill->patience * 2, limits::kMostPatience);
    }
    kill->deaths.await(std::move(kill->killed), kill, [weak = weak_from_this(), kill = kill.get()] {
      const auto self = weak.lock();
      const auto running = self ? self->kills_.find(kill->mark) : decltype(kills_)::iterator();
      if (self && running != self->kills_.end()) self->want_pass(running->second);
    });
  }

  void retry(Kills kills) {
    blind_.expires_after(limits::kBlindPass);
    blind_.async_wait([self = shared_from_this(), kills = std::move(kills)](boost::system::error_code) {
      for (const auto& kill : kills) self->want_pass(kill);
    });
  }

  void tell(MarkKill& kill, TreeDeath death) {
    for (auto& done : std::exchange(kill.done, {})) {
      asio::post(io_, [done = std::move(done), death] { done(death); });
    }
  }

  void finish(MarkKill& kill) {
    kill.deadline.cancel();
    tell(kill, TreeDeath::Complete);
    kills_.erase(kill.mark);
  }

  asio::io_context& io_;
  Timer blind_;
  std::unordered_map<gid_t, std::shared_ptr<MarkKill>> kills_;  ///< All, by mark.
  Kills waiting_;                                               ///< Those that the next pass serves.
};

bool is_alive_with_mark(std::string_view status, gid_t mark) {
  return is_alive(status) && any_group(status, [&](gid_t group) { return group == mark; });
}

MarkRange::MarkRange(std::string_view gid_map, std::uint32_t random) {
  while (!gid_map.empty()) {
    const auto end = std::min(gid_map.find('\n'), gid_map.size());
    auto row = gid_map.substr(0, end);
    gid_map.remove_prefix(std::min(end + 1, gid_map.size()));
    const auto inside = parse<gid_t>(next_token(row));
    next_token(row);  // the id outside
    const auto count = parse<gid_t>(next_token(row));
    if (!inside || !count || *count == 0) continue;
    const gid_t last = *inside + (*count - 1);
    if (last > last_) {
      last_ = last == static_cast<gid_t>(-1) ? last - 1 : last;  // (gid_t)-1 is no group
      // In a small mapping, such as a rootless engine's, the upper half: images rarely number groups there.
      first_ = std::max(*inside, std::min(kFirstMark, *inside + *count / 2));
    }
  }
  if (first_ == 0) throw std::runtime_error("/proc/self/gid_map leaves no group ids to mark executions with");
  next_ = first_ + random % (last_ - first_ + 1);
}

gid_t MarkRange::next() {
  const gid_t mark = next_;
  next_ = next_ == last_ ? first_ : next_ + 1;
  return mark;
}

Tree::Tree() = default;

Tree::Tree(Tree&& other) noexcept = default;

Tree::~Tree() {
  release();
}

Tree& Tree::operator=(Tree&& other) noexcept {
  if (this == &other) return *this;
  release();
  mark_ = other.mark_;
  cgroups_ = std::move(other.cgroups_);
  cgroup_ = std::move(other.cgroup_);
  return *this;
}

int Tree::cgroup_directory() const {
  return cgroup_ ? cgroup_->directory() : -1;
}

void Tree::forgo_cgroup() {
  release();
}

void Tree::release() {
  if (cgroup_) cgroups_->put_back(std::move(cgroup_));
  cgroups_.reset();
}

ProcessTrees::ProcessTrees(asio::io_context& io, KillMethod method, std::string_view gid_map,
                           std::uint32_t random)
    : io_(io), marks_(gid_map, random), killer_(std::make_shared<MarkKiller>(io)) {
  if (method == KillMethod::Mark) return;
  std::string why = "no cgroup v2 is mounted";
  if (const auto parent =
          own_cgroup(sys::read_file("/proc/self/mountinfo"), sys::read_file("/proc/self/cgroup")))
    cgroups_ = Cgroups::open(io, *parent, random, why);
  if (!cgroups_ && method == KillMethod::Cgroup)
    throw std::runtime_error("commands cannot have cgroups of their own: " + why);
}

ProcessTrees::~ProcessTrees() {
  if (cgroups_) cgroups_->close();
}

Tree ProcessTrees::begin() {
  Tree tree;
  tree.mark_ = marks_.next();
  if (cgroups_ && (tree.cgroup_ = cgroups_->take())) tree.cgroups_ = cgroups_;
  return tree;
}

/// The same, and counts the kill that begins now as it calls back.
std::function<void(TreeDeath)> ProcessTrees::counted(std::function<void(TreeDeath)> done) const {
  return [counters = counters_, began = std::chrono::steady_clock::now(),
          done = std::move(done)](TreeDeath death) {
    counters->death.add(std::chrono::steady_clock::now() - began);
    if (death == TreeDeath::Overdue) ++counters->overdue;
    done(death);
  };
}

void ProcessTrees::kill(const Tree& tree, std::function<void(TreeDeath)> done) {
  if (tree.mark_ == 0) return asio::post(io_, [done = std::move(done)] { done(TreeDeath::Complete); });
  done = counted(std::move(done));
  if (tree.cgroup_) {
    const auto kill = std::make_shared<CgroupKill>(io_, *tree.cgroup_, done);
    if (kill->start(*tree.cgroup_)) return;
  }
  killer_->kill(tree.mark_, std::move(done));
}

void ProcessTrees::signal(const Tree& tree, int number) {
  if (tree.cgroup_) return signal_cgroup(*tree.cgroup_, number);
  if (tree.mark_ != 0) signal_marked(tree.mark_, number);
}

void ProcessTrees::kill_once(const Tree& tree) {
  if (tree.cgroup_ && tree.cgroup_->kill()) return;
  if (tree.mark_ != 0) signal_marked(tree.mark_, SIGKILL);
}

void ProcessTrees::confine(std::uint64_t processes, std::uint64_t memory) {
  constexpr auto kPercent = limits::kOneExecutionPercent;
  if (cgroups_) cgroups_->confine({processes, memory}, {processes * kPercent / 100, memory / 100 * kPercent});
}

std::size_t ProcessTrees::lingering() const {
  return cgroups_ ? cgroups_->lingering() : 0;
}

std::string ProcessTrees::cgroup_path() const {
  return cgroups_ ? cgroups_->path() : std::string();
}

}  // namespace roombox
