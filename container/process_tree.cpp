#include "container/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "container/limits.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox {
namespace {

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

template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What follows `name` at the beginning of a line, up to its end.
std::string_view line(std::string_view status, std::string_view name) {
  const auto begin = status.find(name);
  if (begin == status.npos) return {};
  const auto from = begin + name.size();
  return status.substr(from, status.find('\n', from) - from);
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

/// Kills all processes with the mark that one pass over /proc meets; answers pidfds of those killed, a batch
/// at most.
std::vector<sys::Fd> kill_marked(gid_t mark) {
  std::vector<sys::Fd> killed;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return killed;
  std::array<char, 8192> buffer;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = parse<pid_t>(entry->d_name);
    if (!pid) continue;
    // Opened before its status is read. If the status is that of a later process of the same pid, then this
    // one is gone and the signal below goes to nobody: a stranger is never hit.
    sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
    if (!pidfd) continue;
    const auto status = read_status(::dirfd(proc.get()), entry->d_name, buffer);
    if (!status || !is_alive_with_mark(*status, mark)) continue;
    if (::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0) continue;
    if (killed.size() < limits::kKillBatch) killed.push_back(std::move(pidfd));
  }
  return killed;
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
    auto killed = kill_marked(mark_);
    if (killed.empty()) {
      // A process that forks and exits in turn can slip behind a pass over /proc; it has to do so twice.
      if (++empty_rounds_ == 2) return finish(TreeDeath::Complete);
      return asio::post(io_, [self = shared_from_this()] { self->round(); });
    }
    empty_rounds_ = 0;
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
  int empty_rounds_ = 0;
};

}  // namespace

bool is_alive_with_mark(std::string_view status, gid_t mark) {
  auto groups = line(status, "\nGroups:");
  bool marked = false;
  while (!groups.empty() && !marked) marked = parse<gid_t>(next_token(groups)) == mark;
  if (!marked) return false;
  // A zombie may be the ended main thread of a process whose other threads run on.
  auto state = line(status, "\nState:");
  auto threads = line(status, "\nThreads:");
  const auto letter = next_token(state);
  return (letter != "Z" && letter != "X") || parse<int>(next_token(threads)).value_or(0) > 1;
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
  kill_marked(mark);
}

void kill_tree(asio::io_context& io, gid_t mark, std::function<void(TreeDeath)> done) {
  std::make_shared<TreeKill>(io, mark, std::move(done))->start();
}

}  // namespace roombox
