#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "container/asio.h"
#include "container/nameless_fifo.h"
#include "container/process_tree.h"
#include "container/reaper.h"
#include "container/spawn.h"
#include "wasm/protocol/error.h"

namespace roombox {

/// A persistent shell: one bash that runs a call's command after another's, each with streams of its own.
///
/// Bash runs a small loop (kLoop) of its own builtins. For each call it gets a byte on the control socket,
/// takes the command from a file in memory as data, evaluates it with the call's streams, and reports the
/// status on the socket. No text of a command is ever part of the loop's text, and no output of one is ever
/// read for its meaning.
///
/// Streams. The shell cannot be given descriptors once it runs, so it has the names of three FIFOs from its
/// start, and opens them for each call. A call's output ends when all that opened it for the call have closed
/// it, the shell, the command and what that left behind: the rule of every execution. Only then may the next
/// call begin, which finds the FIFOs empty and in nobody's hands: nothing of one call can come out of
/// another.
///
/// Trust. Whoever runs in the shell is of the shell's own user and can ruin it; he must not be able to speak
/// for another call. So the kernel tells, with each message on the socket, which process sent it, and none
/// but the shell's counts; and a report counts only for the call whose random token it carries. The loop's
/// descriptors are closed at any exec.
class Shell : public std::enable_shared_from_this<Shell> {
 public:
  /// What becomes of one call; one of the two is called, once, from the io_context.
  struct Call {
    std::function<void(int status)> on_status;  ///< The command has ended, and the shell lives on.
    std::function<void(Exit)> on_exit;          ///< The shell has ended.
  };

  enum class Input { Null, Pipe };

  /// Our ends of a call's streams, non-blocking; `in` of Input::Pipe only.
  struct Streams {
    sys::Fd out, err, in;
  };

  Shell(asio::io_context& io, Reaper& reaper, ProcessTrees& trees)
      : io_(io), reaper_(reaper), trees_(trees), control_(io) {}

  /// Starts bash. Once, first.
  /// @param request its environment, directory, account and limits; the rest is set here
  std::optional<Error> start(SpawnRequest request);

  /// Has it run a command. Precondition: is_usable(), and the streams of the call before are at their ends.
  Result<Streams, Error> run(std::string_view command, Input input, Call call);

  /// Whether it can take a call: it has not ended, nor been told to.
  bool is_usable() const { return is_usable_; }

  /// Why it never came to run anything, once it has ended so.
  std::optional<Error> error() const;

  /// Signals every process that it has started and has not been left by; itself too.
  void signal(int number) { trees_.signal(tree_, number); }

  /// Kills it with all that it has started; see ProcessTrees::kill.
  void kill(std::function<void(TreeDeath)> done);

  /// Kills what it can at once, without a report; for the end of the process.
  void kill_now();

  /// Lets it end as by `exit`: its EXIT trap runs, and what it left in the background lives on.
  void close();

  /// Calls back, from the io_context, once it has ended.
  void when_ended(std::function<void()> callback) { on_end_ = std::move(callback); }

 private:
  /// What the agent holds of a running call.
  struct Running {
    Call call;
    std::string token;
    /// Ends that keep the call's FIFOs alive, and its output from looking ended, until the shell must have
    /// opened them.
    sys::Fd out, err, in;
  };

  Result<sys::Fd, sys::Failure> open_control();
  Result<sys::Fd, sys::Failure> open_text();
  std::optional<sys::Failure> spawn_bash(SpawnRequest request);
  void watch_launch(sys::Fd launched);
  void await_launch();
  void settle_launch();
  std::optional<sys::Failure> write_text(std::string_view command, Input input);
  Result<Streams, sys::Failure> open_streams();
  std::optional<Error> open_input(Streams& streams);
  void await_report();
  void receive();
  void take(std::string_view bytes);
  void on_report(std::string_view line);
  void on_exit(Exit exit);

  asio::io_context& io_;
  Reaper& reaper_;
  ProcessTrees& trees_;

  Descriptor control_;
  sys::Fd text_;  ///< The file in memory; the shell can only read it.
  std::optional<NamelessFifo> out_, err_, in_;

  std::string directory_, path_;  ///< For errors.
  std::optional<Descriptor> launched_;
  LaunchPtr launch_;
  std::optional<LaunchFailure> launch_failure_;
  pid_t pid_ = 0;
  Tree tree_;

  bool is_usable_ = false;
  bool has_begun_ = false;  ///< Its loop runs.
  bool has_ended_ = false;
  std::string line_;  ///< The beginning of a report.
  std::optional<Running> running_;
  std::function<void()> on_end_;
};

}  // namespace roombox
