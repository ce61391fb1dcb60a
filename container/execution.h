#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/asio.h"
#include "container/oom_counter.h"
#include "container/output_log.h"
#include "container/process_tree.h"
#include "container/reaper.h"
#include "container/spawn.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/execution.h"

namespace roombox {

/// What all executions of one agent share; outlives them.
struct ExecutionContext {
  asio::io_context& io;
  Reaper& reaper;
  ProcessTrees& trees;
  const OomCounter& oom_counter;
  /// Where pipes are read into; one buffer is enough, since one thread reads and the log copies.
  std::vector<char>& read_buffer;
};

/// One command: its process tree, its output log, its end. Lives in the io_context's thread.
class Execution : public std::enable_shared_from_this<Execution> {
 public:
  using EndHandler = std::function<void(const Execution&)>;

  /// @param on_end called once, from the io_context, when the execution has ended and nothing of it is left
  ///               but what it may leave: children that hold none of its output.
  Execution(ExecutionContext context, std::string id, std::string command, std::chrono::milliseconds timeout,
            EndHandler on_end);

  /// Starts the command. The failure to is reported as every other end, through `on_end`.
  void start(SpawnRequest spawn_request);

  /// Ends it for want of somebody who waits: kills its tree, then reports `cancelled`.
  void cancel() { stop(Status::Cancelled); }

  /// Kills what it can at once, without a report; for the end of the process.
  void kill_now();

  const std::string& id() const { return id_; }

  /// Why there is no execution to show: the command could not be started, or not where it was asked to.
  const std::optional<Error>& error() const { return error_; }

  /// Valid while the execution is and until it goes on.
  ExecutionView view() const;

 private:
  /// The read end of one of its streams.
  struct Pipe {
    asio::posix::stream_descriptor descriptor;
    bool open = true;
  };

  void watch(Stream stream);
  void read(Stream stream);
  void stop(Status why);
  void on_exit(Exit exit);
  void end_if_over();
  void end();
  Pipe& pipe(Stream stream) { return *pipes_[static_cast<std::size_t>(stream)]; }

  ExecutionContext context_;
  const std::string id_;
  const std::string command_;
  const std::chrono::milliseconds timeout_;
  EndHandler on_end_;

  const std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds duration_{0};

  asio::steady_timer timer_;
  std::array<std::optional<Pipe>, 2> pipes_;
  OutputLog log_;
  LaunchPtr launch_;
  pid_t pid_ = 0;
  Tree tree_;
  std::optional<asio::posix::stream_descriptor> launched_;

  std::uint64_t oom_kills_before_ = 0;
  bool oom_ = false;
  std::optional<Exit> exit_;             ///< Of the shell.
  std::optional<Status> stopped_;        ///< Why it was stopped, if it was.
  std::optional<TreeDeath> tree_death_;  ///< Of a stopped one.
  std::optional<Error> error_;
};

}  // namespace roombox
