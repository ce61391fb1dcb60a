#include "container/file_thread.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>

#include "container/sys/call.h"

namespace roombox {
namespace {

/// Gives up all that the calling thread may do to files beyond what the account may. System calls rather than
/// libc's functions, which change every thread of the process (nptl(7)).
std::optional<sys::Failure> become(const Account& account) {
  const auto groups = sys::call("setgroups", [] { return ::syscall(SYS_setgroups, 0, nullptr); });
  if (!groups) return groups.error();
  ::setfsgid(account.gid);
  ::setfsuid(account.uid);
  // They tell no failure, but what is set: an id that there cannot be changes nothing.
  if (::setfsgid(static_cast<gid_t>(-1)) != static_cast<int>(account.gid))
    return sys::Failure{"setfsgid", EPERM};
  if (::setfsuid(static_cast<uid_t>(-1)) != static_cast<int>(account.uid))
    return sys::Failure{"setfsuid", EPERM};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  const auto given_up = sys::call("capset", [&] { return ::syscall(SYS_capset, &header, none.data()); });
  if (!given_up) return given_up.error();
  return std::nullopt;
}

}  // namespace

FileThread::FileThread(asio::io_context& io, const Account& account) : io_(io) {
  std::promise<std::optional<sys::Failure>> became;
  thread_ = std::thread([this, &became, &account] {
    const auto failure = become(account);
    became.set_value(failure);
    if (!failure) work();
  });
  if (const auto failure = became.get_future().get()) {
    thread_.join();
    throw std::runtime_error("the thread for files cannot become the user's: " + failure->text());
  }
}

FileThread::~FileThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void FileThread::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  posted_.notify_one();
}

void FileThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds may post another
    lock.lock();
  }
}

}  // namespace roombox
