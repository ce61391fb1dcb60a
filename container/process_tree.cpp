#include "container/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "container/limits.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"
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

bool carries_mark(std::string_view status, gid_t mark) {
  auto groups = line(status, "\nGroups:");
  while (!groups.empty()) {
    if (parse<gid_t>(next_token(groups)) == mark) return true;
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

/// Calls back with the number and the name of each process, and the descriptor of /proc.
template <typename Visit>
void for_each_process(Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (const auto pid = parse<pid_t>(entry->d_name)) visit(*pid, entry->d_name, ::dirfd(proc.get()));
  }
}

/// What one pass over /proc came to.
struct Pass {
  std::vector<sys::Fd> killed;  ///< Those killed, a batch at most.
  bool undecided = false;  ///< One went away as it was looked at: it may have left a child behind the pass.
};

/// Kills all processes with the mark that one pass over /proc meets.
/// @param zombies those met in earlier passes; a new one counts as one that went away
Pass kill_marked(gid_t mark, std::unordered_set<pid_t>& zombies) {
  Pass pass;
  std::array<char, 8192> buffer;
  for_each_process([&](pid_t pid, const char* name, int proc) {
    // Opened before its status is read. If the status is that of a later process of the same pid, then this
    // one is gone and the signal below goes to nobody: a stranger is never hit.
    sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const auto status = pidfd ? read_status(proc, name, buffer) : std::nullopt;
    if (!status) {
      pass.undecided = true;
    } else if (carries_mark(*status, mark)) {
      if (!is_alive(*status)) {
        pass.undecided |= zombies.insert(pid).second;
      } else if (::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0) {
        pass.undecided = true;
      } else if (pass.killed.size() < limits::kKillBatch) {
        pass.killed.push_back(std::move(pidfd));
      }
    }
  });
  return pass;
}

/// The processes that are stopped, by whomever.
std::unordered_set<pid_t> stopped_processes() {
  std::unordered_set<pid_t> stopped;
  std::array<char, 8192> buffer;
  for_each_process([&](pid_t pid, const char* name, int proc) {
    const auto status = read_status(proc, name, buffer);
    auto state = line(status.value_or(""), "\nState:");
    if (next_token(state) == "T") stopped.insert(pid);
  });
  return stopped;
}

/// Stops the whole sandbox for one pass. kill(2) of -1 signals all processes in one step that no fork(2) can
/// slip through, so that even a tree that forks and exits in turn, faster than a pass can look, stands still
/// to be met. Precondition: this process is PID 1 of a PID namespace, and so all others are the sandbox's.
Pass kill_marked_stopped(gid_t mark, std::unordered_set<pid_t>& zombies) {
  const auto stopped_before = stopped_processes();
  ::kill(-1, SIGSTOP);
  Pass pass = kill_marked(mark, zombies);
  for_each_process([&](pid_t pid, const char*, int) {
    if (pid != 1 && !stopped_before.contains(pid)) ::kill(pid, SIGCONT);
  });
  return pass;
}

class TreeKill : public std::enable_shared_from_this<TreeKill> {
 public:
  TreeKill(asio::io_context& io, gid_t mark, std::function<void(TreeDeath)> done)
      : io_(io), deadline_(io), mark_(mark), done_(std::move(done)) {}

  void start() {
    deadline_.expires_after(limits::kTreeDeath);
    deadline_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
      if (!cancelled) self->finish(TreeDeath::Overdue);
    });
    round();
  }

 private:
  void round() {
    Pass pass = kill_marked(mark_, zombies_);
    bool proof = false;
    if (pass.killed.empty() && pass.undecided && ++undecided_passes_ >= limits::kUndecidedPasses &&
        ::getpid() == 1) {
      pass = kill_marked_stopped(mark_, zombies_);
      proof = pass.killed.empty();
    }
    if (!pass.killed.empty()) return await_death(std::move(pass.killed));
    // Twice, for one that slipped behind a pass without being seen to go. Outside of a PID namespace of our
    // own nothing may be stopped, so there a few undecided passes must do.
    if (!pass.undecided || undecided_passes_ >= limits::kUndecidedPasses) ++empty_passes_;
    if (proof || empty_passes_ == 2) return finish(TreeDeath::Complete);
    asio::post(io_, [self = shared_from_this()] { self->round(); });
  }

  void await_death(std::vector<sys::Fd> killed) {
    empty_passes_ = undecided_passes_ = 0;
    awaited_.clear();
    awaited_.reserve(killed.size());
    dying_ = killed.size();
    for (auto& pidfd : killed) await(std::move(pidfd));
  }

  void await(sys::Fd pidfd) {
    auto& descriptor = awaited_.emplace_back(io_, pidfd.release());
    descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                          [self = shared_from_this()](boost::system::error_code ec) {
                            if (!ec && --self->dying_ == 0 && self->done_) self->round();
                          });
  }

  void finish(TreeDeath death) {
    deadline_.cancel();
    awaited_.clear();
    if (auto done = std::exchange(done_, nullptr)) asio::post(io_, [done, death] { done(death); });
  }

  asio::io_context& io_;
  asio::steady_timer deadline_;
  gid_t mark_;
  std::function<void(TreeDeath)> done_;
  std::vector<asio::posix::stream_descriptor> awaited_;
  std::size_t dying_ = 0;
  std::unordered_set<pid_t> zombies_;
  int empty_passes_ = 0;
  int undecided_passes_ = 0;
};

}  // namespace

bool is_alive_with_mark(std::string_view status, gid_t mark) {
  return carries_mark(status, mark) && is_alive(status);
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

void kill_tree_once(gid_t mark) {
  std::unordered_set<pid_t> zombies;
  kill_marked(mark, zombies);
}

void kill_tree(asio::io_context& io, gid_t mark, std::function<void(TreeDeath)> done) {
  std::make_shared<TreeKill>(io, mark, std::move(done))->start();
}

}  // namespace roombox
