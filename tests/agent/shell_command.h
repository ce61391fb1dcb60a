#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "container/process_tree.h"
#include "container/reaper.h"
#include "container/spawn.h"

namespace roombox {

/// Runs a shell as the agent does, with its output kept; for tests of what is below an execution.
class ShellCommand {
 public:
  /// @param adjust changes the request before it is carried out
  ShellCommand(
      asio::io_context& io, Reaper& reaper, ProcessTrees& trees, const Account& account,
      const std::string& command, const std::function<void(SpawnRequest&)>& adjust = [](SpawnRequest&) {})
      : tree(trees.begin()), out_(io) {
    const sys::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    SpawnRequest request;
    request.shell = "/bin/bash";
    request.arguments = shell_arguments(request.shell, command);
    request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    request.directory = "/tmp";
    request.account = &account;
    request.limits = command_limits();
    request.tree = &tree;
    request.stdin_fd = null.get();
    adjust(request);
    auto made = spawn(std::move(request));
    if (!made) throw std::runtime_error(made.error().text());
    spawned.emplace(std::move(*made));
    out_.assign(spawned->out.release());
    reaper.watch(spawned->pid, std::move(spawned->pidfd), [this](Exit ended) { exit = ended; });
    read();
  }
  ShellCommand(const ShellCommand&) = delete;

  Tree tree;
  std::optional<Spawned> spawned;
  std::optional<Exit> exit;
  std::string out;
  bool out_ended = false;

 private:
  void read() {
    out_.async_wait(asio::posix::descriptor_base::wait_read, [this](boost::system::error_code ec) {
      if (ec) return;
      char bytes[4096];
      const auto size = ::read(out_.native_handle(), bytes, sizeof bytes);
      if (size > 0) out.append(bytes, static_cast<std::size_t>(size));
      out_ended = size == 0;
      if (!out_ended) read();
    });
  }

  asio::posix::stream_descriptor out_;
};

/// Runs an io_context until a condition holds; false if it does not within a minute.
template <typename Condition>
[[nodiscard]] bool run_until(asio::io_context& io, Condition done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (done()) return true;
    io.run_one_until(deadline);
  }
  return false;
}

}  // namespace roombox
