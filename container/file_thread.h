#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "container/account.h"
#include "container/asio.h"

namespace roombox {

/// The thread that touches files for callers, so that a slow disk holds up nothing else. It has the rights of
/// the commands' user and no others: a path that a caller names leads nowhere that a command could not go.
///
/// Its file-system ids are the user's, it has no groups and no capabilities, for good. Its real, effective
/// and saved ids stay root's: a thread whose ids were the user's could be signalled by any command, and the
/// signal would end the whole agent; and its limits could be changed, which are the agent's too.
class FileThread {
 public:
  /// Throws std::runtime_error where the thread cannot become the account's.
  FileThread(asio::io_context& io, const Account& account);
  /// Ends the thread after the jobs that it has.
  ~FileThread();

  /// Runs a job on the thread, after those that it has.
  void post(std::function<void()> job);

  /// Runs `work()` on the thread, then `then(result)` in the io_context's.
  /// @param work is let go of on the thread, so it keeps nothing of the io_context's alive
  template <typename Work, typename Then>
  void run(Work work, Then then) {
    post([this, work = std::move(work), then = std::move(then)]() mutable {
      auto result = std::make_shared<decltype(work())>(work());
      asio::post(
          io_, [then = std::move(then), result = std::move(result)]() mutable { then(std::move(*result)); });
    });
  }

  /// Has what is made on the thread end there too, whoever lets go of it last.
  template <typename Value>
  std::shared_ptr<Value> own(std::unique_ptr<Value> value) {
    return {value.release(), [this](Value* last) { post([last] { delete last; }); }};
  }

 private:
  void work();

  asio::io_context& io_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace roombox
