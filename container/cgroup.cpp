#include "container/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "container/limits.h"
#include "container/sys/call.h"
#include "container/sys/clone.h"
#include "container/sys/file.h"
#include "container/sys/parse.h"

namespace roombox {
namespace {

constexpr std::string_view kSubtreePrefix = "roombox-";

/// The directory of a cgroup that has its processes.
constexpr char kInner[] = "run";

/// The first line's worth of a text, taken off it.
std::string_view take(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

sys::Fd open_at(int directory, const char* name, int flags) {
  return sys::Fd(::openat(directory, name, flags | O_CLOEXEC));
}

/// Of the unified hierarchy in text of the form of /proc/pid/cgroup.
std::string_view unified_path(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const auto line = take(cgroup, '\n');
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

/// In the parent's memory, as a command's child is: see spawn.cpp.
__attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread"))) int end_at_once(
    void*) {
  for (;;) sys::raw_syscall(SYS_exit_group, 0);
}

/// Reads a cgroup.events anew; nullopt where that fails.
std::optional<bool> read_populated(int events) {
  std::array<char, 256> text;
  const auto size = sys::call("pread", [&] { return ::pread(events, text.data(), text.size(), 0); });
  if (!size) return std::nullopt;
  const std::string_view read(text.data(), static_cast<std::size_t>(*size));
  return read.find("populated 0") == read.npos;
}

/// Whether a child can be born into the cgroup; a seccomp filter may refuse clone3(2).
bool can_spawn_into(const Cgroup& cgroup) {
  alignas(16) std::array<std::byte, 4096> stack;
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uintptr_t>(stack.data());
  arguments.stack_size = stack.size();
  arguments.cgroup = static_cast<std::uint64_t>(cgroup.directory());
  if (sys::clone3_onto_stack(arguments, end_at_once, nullptr) < 0) return false;
  // Before there is anything to reap, so the Reaper stays the one owner of exits.
  const sys::Fd owned(pidfd);
  siginfo_t info{};
  const auto waited =
      sys::call("waitid", [&] { return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED); });
  return waited && info.si_code == CLD_EXITED && info.si_status == 0;
}

bool write_at(int directory, const char* name, const std::string& text) {
  const auto file = open_at(directory, name, O_WRONLY);
  return file && sys::call("write", [&] { return ::write(file.get(), text.data(), text.size()); });
}

/// Where a controller is not delegated, its file is not there.
void set_caps(int directory, const CgroupCaps& caps) {
  write_at(directory, "pids.max", std::to_string(caps.processes));
  write_at(directory, "memory.max", std::to_string(caps.memory));
}

/// A name that `open` gives.
bool is_subtree(std::string_view name) {
  if (!name.starts_with(kSubtreePrefix)) return false;
  name.remove_prefix(kSubtreePrefix.size());
  return name.size() == 8 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// Removes the subtrees that agents before this one left: those whose lock nobody holds. What still has
/// processes stays.
void remove_stale_subtrees(int parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(open_at(parent, ".", O_RDONLY).release()),
                                                    ::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
    if (!is_subtree(entry->d_name)) continue;
    sys::Fd subtree = open_at(parent, entry->d_name, O_RDONLY | O_DIRECTORY);
    if (!subtree || ::flock(subtree.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::unique_ptr<DIR, int (*)(DIR*)> inner(::fdopendir(::dup(subtree.get())), ::closedir);
    while (const dirent* child = inner ? ::readdir(inner.get()) : nullptr) {
      if (child->d_type != DT_DIR || child->d_name[0] == '.') continue;
      ::unlinkat(subtree.get(), (std::string(child->d_name) + "/" + kInner).c_str(), AT_REMOVEDIR);
      ::unlinkat(subtree.get(), child->d_name, AT_REMOVEDIR);
    }
    ::unlinkat(parent, entry->d_name, AT_REMOVEDIR);
  }
}

}  // namespace

std::optional<std::string> own_cgroup(std::string_view mountinfo, std::string_view cgroup) {
  const auto path = unified_path(cgroup);
  if (path.empty() || path.starts_with("/..")) return std::nullopt;
  while (!mountinfo.empty()) {
    auto line = take(mountinfo, '\n');
    const auto kind = line.find(" - ");
    if (kind == line.npos || !line.substr(kind + 3).starts_with("cgroup2 ")) continue;
    for (int skipped = 0; skipped < 3; ++skipped) take(line, ' ');  // ids and device
    const auto root = take(line, ' ');
    const auto mount_point = take(line, ' ');
    if (root == "/") return std::string(mount_point) + std::string(path == "/" ? "" : path);
    if (path == root) return std::string(mount_point);
    if (path.starts_with(std::string(root) + "/"))
      return std::string(mount_point) + std::string(path.substr(root.size()));
  }
  return std::nullopt;
}

std::unique_ptr<Cgroup> Cgroup::make(int parent, std::string name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0) return nullptr;
  std::unique_ptr<Cgroup> cgroup(new Cgroup(parent, std::move(name)));
  cgroup->outer_ = open_at(parent, cgroup->name_.c_str(), O_RDONLY | O_DIRECTORY);
  return cgroup->outer_ && cgroup->make_inner() ? std::move(cgroup) : nullptr;
}

bool Cgroup::make_inner() {
  if (::mkdirat(outer_.get(), kInner, 0755) != 0) return false;
  directory_ = open_at(outer_.get(), kInner, O_RDONLY | O_DIRECTORY);
  events_ = open_at(directory(), "cgroup.events", O_RDONLY);
  return directory_ && events_;
}

Cgroup::~Cgroup() {
  if (outer_) ::unlinkat(outer_.get(), kInner, AT_REMOVEDIR);
  ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR);
}

void Cgroup::confine(const CgroupCaps& caps) {
  set_caps(outer_.get(), caps);
}

bool Cgroup::renew() {
  if (!killed_) return true;
  if (::unlinkat(outer_.get(), kInner, AT_REMOVEDIR) != 0 || !make_inner()) return false;
  killed_ = false;
  return true;
}

bool Cgroup::kill() {
  killed_ = true;
  return write_at(directory(), "cgroup.kill", "1");
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> pids;
  const std::string text = sys::read_file(open_at(directory(), "cgroup.procs", O_RDONLY));
  for (std::string_view rest = text; !rest.empty();) {
    const auto pid = sys::parse<pid_t>(take(rest, '\n'));
    if (pid && *pid > 0) pids.push_back(*pid);
  }
  return pids;
}

bool Cgroup::holds(pid_t pid) const {
  const auto text = sys::read_file("/proc/" + std::to_string(pid) + "/cgroup");
  return unified_path(text).ends_with(path_);
}

bool Cgroup::is_populated() const {
  return read_populated(events_.get()).value_or(true);
}

sys::Fd Cgroup::open_events() const {
  return open_at(directory(), "cgroup.events", O_RDONLY);
}

CgroupEmptied::CgroupEmptied(asio::io_context& io, const Cgroup& cgroup)
    : events_(std::make_shared<Descriptor>(io)) {
  // Opened for this wait alone: what is news to a poll(2) is told from the last read of each open file.
  sys::Fd events = cgroup.open_events();
  boost::system::error_code refused;
  if (!events) return;
  events_->assign(events.get(), refused);
  if (!refused) events.release();
}

bool CgroupEmptied::is_empty() const {
  return !read_populated(events_->native_handle()).value_or(true);
}

void CgroupEmptied::close() {
  boost::system::error_code ignored;
  events_->close(ignored);
}

void CgroupEmptied::async_wait(std::function<void()> done) {
  wait(events_, std::move(done));
}

void CgroupEmptied::wait(std::shared_ptr<Descriptor> events, std::function<void()> done) {
  // A file that was never read is news, so the state from before the wait is not missed.
  auto& descriptor = *events;
  descriptor.async_wait(
      asio::posix::descriptor_base::wait_error,
      [events = std::move(events), done = std::move(done)](boost::system::error_code ec) mutable {
        if (ec || !events->is_open()) return;
        if (!read_populated(events->native_handle()).value_or(true)) return done();
        wait(std::move(events), std::move(done));
      });
}

std::shared_ptr<Cgroups> Cgroups::open(asio::io_context& io, const std::string& parent, std::uint32_t random,
                                       std::string& why) {
  std::shared_ptr<Cgroups> cgroups(new Cgroups(io));
  const auto failed = [&why](const char* what) {
    why = std::string(what) + ": " + std::generic_category().message(errno);
    return nullptr;
  };
  cgroups->parent_ = open_at(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY);
  if (!cgroups->parent_) return failed("open");
  remove_stale_subtrees(cgroups->parent_.get());

  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "%s%08x", kSubtreePrefix.data(), random);
  cgroups->path_ = parent + "/" + name.data();
  if (::mkdirat(cgroups->parent_.get(), name.data(), 0755) != 0) return failed("mkdir");
  cgroups->name_ = name.data();
  cgroups->subtree_ = open_at(cgroups->parent_.get(), name.data(), O_RDONLY | O_DIRECTORY);
  if (!cgroups->subtree_) return failed("open");
  ::flock(cgroups->subtree_.get(), LOCK_EX | LOCK_NB);
  auto first = cgroups->take();
  if (!first || !can_spawn_into(*first) || !first->kill()) return failed("clone3 and cgroup.kill");
  cgroups->put_back(std::move(first));
  return cgroups;
}

Cgroups::~Cgroups() {
  close();
  if (!name_.empty()) ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

std::unique_ptr<Cgroup> Cgroups::take() {
  if (!spare_.empty()) {
    auto cgroup = std::move(spare_.back());
    spare_.pop_back();
    return cgroup;
  }
  auto cgroup = Cgroup::make(subtree_.get(), std::to_string(++count_));
  if (!cgroup) return nullptr;
  cgroup->path_ = "/" + name_ + "/" + cgroup->name_ + "/" + kInner;
  if (caps_) cgroup->confine(*caps_);
  return cgroup;
}

void Cgroups::put_back(std::unique_ptr<Cgroup> cgroup) {
  if (closed_) return;
  for (auto& unwatched : std::exchange(unwatched_, {})) put_back(std::move(unwatched));
  if (cgroup->is_populated()) return linger(std::move(cgroup));
  if (spare_.size() < limits::kSpareCgroups && cgroup->renew()) spare_.push_back(std::move(cgroup));
}

void Cgroups::linger(std::unique_ptr<Cgroup> cgroup) {
  const Cgroup* key = cgroup.get();
  auto emptied = std::make_unique<CgroupEmptied>(io_, *key);
  if (!emptied->is_open()) return unwatched_.push_back(std::move(cgroup));
  const auto [entry, added] = lingering_.try_emplace(key, Lingering{std::move(cgroup), std::move(emptied)});
  entry->second.emptied->async_wait([weak = weak_from_this(), key] {
    const auto self = weak.lock();
    if (!self) return;
    if (auto ended = self->lingering_.extract(key)) self->put_back(std::move(ended.mapped().cgroup));
  });
}

void Cgroups::confine(const CgroupCaps& all, const CgroupCaps& each) {
  // Where our own cgroup has processes and is not the root, the kernel gives its children no controllers that
  // they have not (cgroups(7), "no internal processes"). An orchestrator that delegates has enabled them.
  for (const int directory : {parent_.get(), subtree_.get()}) {
    for (const char* controller : {"+pids", "+memory"})
      write_at(directory, "cgroup.subtree_control", controller);
  }
  set_caps(subtree_.get(), all);
  caps_ = each;
  for (const auto& cgroup : spare_) cgroup->confine(each);
}

void Cgroups::close() {
  closed_ = true;
  spare_.clear();
  unwatched_.clear();
  lingering_.clear();
}

}  // namespace roombox
