#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/asio.h"
#include "container/counters.h"
#include "container/oom_counter.h"
#include "container/output_log.h"
#include "container/process_tree.h"
#include "container/reaper.h"
#include "container/spawn.h"
#include "container/stdin_writer.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/execution.h"

namespace roombox {

class Shell;

/// What all executions of one agent share; outlives them.
struct ExecutionContext {
  asio::io_context& io;
  Reaper& reaper;
  ProcessTrees& trees;
  const OomCounter& oom_counter;
  /// Where pipes are read into; one buffer is enough, since one thread reads and the log copies.
  std::vector<char>& read_buffer;
  ExecutionCounters& counters;
};

/// One command: its process tree, its output log, its end. Lives in the io_context's thread.
class Execution : public std::enable_shared_from_this<Execution> {
 public:
  using Handler = std::function<void(const Execution&)>;

  /// @param request what was asked for; the command, the environment and the directory are the spawn's
  Execution(ExecutionContext context, std::string id, ExecRequest request);

  /// Starts the command. The failure to is reported as every other end.
  void start(SpawnRequest spawn_request);

  /// Waits for its turn in a persistent shell, in place of start: its time runs, and whoever waits for its
  /// start is told.
  void wait_for_shell();

  /// Its turn has come: hands its command to the shell. The failure to is reported as every other end.
  void start_in(std::shared_ptr<Shell> shell);

  /// Ends it, from the io_context, before it has begun.
  void refuse(Error error);

  /// Calls back, from the io_context, once the command's shell runs; never if it cannot be run.
  void when_started(Handler callback) { on_started_.push_back(std::move(callback)); }

  /// Calls back, from the io_context, when the execution has ended and nothing of it is left but what it may
  /// leave: children that hold none of its output. Before the end alone.
  void when_ended(Handler callback) { on_end_.push_back(std::move(callback)); }

  /// Ends it for want of somebody who waits: kills its tree, then ends as `cancelled`.
  void cancel() { stop(Status::Cancelled); }

  /// Sends a signal to its whole tree. SIGKILL is as cancel(); another that ends the command has it end as
  /// `cancelled` too. Nothing happens after the end.
  void signal(int number);

  /// Kills what it can at once, without a report; for the end of the process.
  void kill_now();

  /// What writes to its stdin; null where nobody can.
  StdinWriter* input() { return stdin_.get(); }

  /// Ends its stdin after what was written; a terminal's by its end-of-file character.
  void end_input();

  /// Gives its terminal another size. False where it has none, or has ended.
  bool resize(TerminalSize size);

  /// Notes that a client is attached to it, until what is returned ends. When the last one has left, the
  /// command may have to end some time later: ExecRequest::max_run_after_disconnect.
  [[nodiscard]] std::shared_ptr<void> attach();

  /// Has the command wait for its first client once it is so far ahead that it would miss output; for a
  /// while.
  void await_client();

  /// How many clients are attached.
  std::size_t attached() const { return attached_; }

  const std::string& id() const { return id_; }
  const std::string& shell() const { return request_.shell; }
  Mode mode() const { return request_.mode; }
  Encoding encoding() const { return request_.encoding; }
  bool has_ended() const { return ended_; }

  /// Why there is no execution to show: the command could not be started, or not where it was asked to.
  const std::optional<Error>& error() const { return error_; }

  /// Everything it has written; for readers.
  OutputLog& log() { return log_; }
  const OutputLog& log() const { return log_; }

  /// How it ended; Running before that.
  Status status() const;

  /// Valid while the execution is and until it goes on or is viewed again.
  ExecutionView view() const;

 private:
  /// The read end of one of its streams.
  struct Pipe {
    Descriptor descriptor;
    bool open = true;
    bool watched = false;
    bool widened = false;
  };

  void take_streams(sys::Fd out, sys::Fd err, sys::Fd in);
  void start_timeout();
  void watch_launch(sys::Fd launched, std::string directory, std::string shell);
  void await_launch();
  void watch(Stream stream);
  void read(Stream stream);
  std::size_t read_once(Stream stream);
  void read_on();
  void stop(Status why);
  void on_exit(Exit exit);
  void on_status(int status);
  void on_shell_exit(Exit exit);
  void detach();
  void count_end();
  bool is_any_pipe_open() const;
  void end_if_over();
  void end();
  Pipe& pipe(Stream stream) { return *pipes_[static_cast<std::size_t>(stream)]; }

  ExecutionContext context_;
  const std::string id_;
  ExecRequest request_;
  std::string arguments_;  ///< Of a program, as a view has them.
  std::vector<Handler> on_started_;
  std::vector<Handler> on_end_;

  const std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::optional<std::chrono::milliseconds> duration_;

  Timer timer_;         ///< Of its timeout; once its shell has exited, of its terminal's end.
  Timer disconnected_;  ///< Since the last attached client has left, or the first is awaited.
  std::size_t attached_ = 0;
  std::optional<Descriptor> launched_;
  std::function<void()> settle_launch_;       ///< Learns how the launch went, once.
  std::array<std::optional<Pipe>, 2> pipes_;  ///< Of a terminal the first alone.
  std::shared_ptr<StdinWriter> stdin_;
  OutputLog log_;
  std::unique_ptr<LogReader> first_client_;  ///< Holds the place of one that is awaited.
  LaunchPtr launch_;
  pid_t pid_ = 0;
  Tree tree_;
  std::shared_ptr<Shell> shell_;  ///< Its persistent shell, from its turn to its end; in place of the four.
  bool waits_ = false;            ///< For its turn there.
  bool shell_exited_ = false;     ///< It was the last command of that.

  std::uint64_t oom_kills_before_ = 0;
  bool oom_ = false;
  bool ended_ = false;
  int signalled_ = 0;                    ///< The signal sent last by request.
  std::optional<Exit> exit_;             ///< Of the shell; of a persistent one also its report.
  std::optional<Status> stopped_;        ///< Why it was stopped, if it was.
  std::optional<TreeDeath> tree_death_;  ///< Of a stopped one.
  std::optional<Error> error_;
  mutable std::string viewed_runs_;  ///< What the last view borrows.
};

}  // namespace roombox
