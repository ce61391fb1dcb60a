#include "container/reaper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <stdexcept>

#include "container/limits.h"
#include "container/sys/call.h"

namespace roombox {
namespace {

int open_sigchld() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  auto fd = sys::call("signalfd", [&] { return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK); });
  if (!fd) throw std::runtime_error(fd.error().text());
  return *fd;
}

Exit to_exit(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {info.si_status, std::nullopt};
  return {std::nullopt, info.si_status};
}

/// waitid(2); the pid is 0 where nothing of the kind has ended.
siginfo_t wait(idtype_t type, id_t id, int flags) {
  siginfo_t info{};
  auto waited = sys::call("waitid", [&] { return ::waitid(type, id, &info, WEXITED | WNOHANG | flags); });
  if (!waited) info.si_pid = 0;
  return info;
}

}  // namespace

Reaper::Reaper(asio::io_context& io) : io_(io), sigchld_(io, open_sigchld()), sweep_(io) {
  auto set = sys::call("prctl", [] { return ::prctl(PR_SET_CHILD_SUBREAPER, 1); });
  if (!set) throw std::runtime_error(set.error().text());
  await_orphans();
}

void Reaper::watch(pid_t pid, sys::Fd pidfd, ExitHandler on_exit) {
  auto [child, added] =
      children_.try_emplace(pid, Child{Descriptor(io_, pidfd.release()), std::move(on_exit)});
  child->second.pidfd.async_wait(asio::posix::descriptor_base::wait_read,
                                 [this, pid](boost::system::error_code ec) {
                                   if (!ec) reap(pid);
                                 });
}

void Reaper::signal(pid_t pid, int number) {
  const auto child = children_.find(pid);
  if (child == children_.end()) return;
  // The one failure is ESRCH: it has ended and its handler is about to run.
  ::syscall(SYS_pidfd_send_signal, child->second.pidfd.native_handle(), number, nullptr, 0);
}

void Reaper::reap(pid_t pid) {
  const auto child = children_.find(pid);
  if (child == children_.end()) return;
  const siginfo_t info = wait(P_PIDFD, child->second.pidfd.native_handle(), 0);
  if (info.si_pid == 0) return;
  auto on_exit = std::move(child->second.on_exit);
  children_.erase(child);
  on_exit(to_exit(info));
}

/// A SIGCHLD does not say how many ended, and every watched child sends one too. So the first begins a short
/// wait, after which all orphans there are go at once: the cost does not grow with the number of executions.
void Reaper::await_orphans() {
  sigchld_.async_wait(asio::posix::descriptor_base::wait_read, [this](boost::system::error_code ec) {
    if (ec) return;
    sweep_.expires_after(limits::kOrphanSweep);
    sweep_.async_wait([this](boost::system::error_code cancelled) {
      if (!cancelled) sweep_orphans();
    });
  });
}

void Reaper::sweep_orphans() {
  // Before the sweep: an orphan that ends during it raises the signal anew.
  signalfd_siginfo drained[16];
  while (::read(sigchld_.native_handle(), drained, sizeof drained) > 0) {
  }
  if (!reap_some(limits::kOrphansPerTurn)) return await_orphans();
  asio::post(io_, [this] { sweep_orphans(); });
}

void Reaper::sweep() {
  // Bounded, in case that other executions make zombies as fast; those are the next sweep's.
  reap_some(static_cast<int>(limits::kProcesses));
}

/// False where fewer had ended.
bool Reaper::reap_some(int count) {
  for (; count > 0; --count) {
    // Looked at first, taken second: a watched child met here is reaped as such, with its handler called.
    const siginfo_t info = wait(P_ALL, 0, WNOWAIT);
    if (info.si_pid == 0) return false;
    if (children_.contains(info.si_pid)) {
      reap(info.si_pid);
    } else {
      wait(P_PID, info.si_pid, 0);
    }
  }
  return true;
}

}  // namespace roombox
