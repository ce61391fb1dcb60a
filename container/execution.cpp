#include "container/execution.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "container/limits.h"
#include "container/log.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/signals.h"

namespace roombox {
namespace {

constexpr int kExitTimeout = 124;     // as timeout(1) answers
constexpr int kExitSignalBase = 128;  // as every shell answers for a signal

Error launch_error(const LaunchFailure& failure, const std::string& directory, const std::string& shell) {
  const std::string reason = ::strerror(failure.number);
  switch (failure.step) {
    case LaunchFailure::Step::Directory:
      return invalid_request({{"cwd", "Cannot enter " + directory + ": " + reason}});
    case LaunchFailure::Step::Shell:
      return {ErrorCode::ExecutionFailed, "sandbox execution failed: cannot run " + shell + ": " + reason};
    case LaunchFailure::Step::Setup:
      break;
  }
  return {ErrorCode::ExecutionFailed, "sandbox execution failed: cannot set the command up: " + reason};
}

}  // namespace

Execution::Execution(ExecutionContext context, std::string id, std::string command,
                     std::chrono::milliseconds timeout, EndHandler on_end)
    : context_(context),
      id_(std::move(id)),
      command_(std::move(command)),
      timeout_(timeout),
      on_end_(std::move(on_end)),
      timer_(context.io),
      log_(limits::kStoredOutput) {}

void Execution::start(SpawnRequest spawn_request) {
  tree_ = context_.trees.begin();
  spawn_request.tree = &tree_;
  oom_kills_before_ = context_.oom_counter.count();
  const std::string directory = spawn_request.directory, shell = spawn_request.shell;
  auto spawned = spawn(std::move(spawn_request));
  if (!spawned) {
    error_ = Error{ErrorCode::ExecutionFailed, "sandbox execution failed: " + spawned.error().text()};
    return asio::post(context_.io, [self = shared_from_this()] { self->end(); });
  }
  pid_ = spawned->pid;
  launch_ = std::move(spawned->launch);
  pipes_[0].emplace(Pipe{asio::posix::stream_descriptor(context_.io, spawned->out.release())});
  pipes_[1].emplace(Pipe{asio::posix::stream_descriptor(context_.io, spawned->err.release())});

  context_.reaper.watch(pid_, std::move(spawned->pidfd),
                        [self = shared_from_this(), directory, shell](Exit exit) {
                          if (const auto failure = launch_failure(*self->launch_))
                            self->error_ = launch_error(*failure, directory, shell);
                          self->launched_.reset();
                          self->on_exit(exit);
                        });
  launched_.emplace(context_.io, spawned->launched.release());
  launched_->async_wait(asio::posix::descriptor_base::wait_read,
                        [self = shared_from_this()](boost::system::error_code ec) {
                          if (!ec && !self->exit_) offer_to_oom_killer(self->pid_);
                        });
  watch(Stream::Stdout);
  watch(Stream::Stderr);
  timer_.expires_after(timeout_);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled) self->stop(Status::Timeout);
  });
}

void Execution::on_exit(Exit exit) {
  exit_ = exit;
  // What the kernel kills for want of memory ends by SIGKILL, of itself or as the shell tells it of its
  // child.
  const bool killed = exit.signal == SIGKILL || exit.code == kExitSignalBase + SIGKILL;
  oom_ = killed && !stopped_ && context_.oom_counter.count() > oom_kills_before_;
  end_if_over();
}

ExecutionView Execution::view() const {
  ExecutionView view;
  view.id = id_;
  view.out = log_.stored(Stream::Stdout);
  view.err = log_.stored(Stream::Stderr);
  view.truncated = log_.truncated();
  view.oom = oom_;
  view.command = command_;
  view.duration = duration_;
  view.started_at = started_at_;
  if (exit_ && exit_->signal) view.signal = signal_name(*exit_->signal);
  if (exit_) view.exit_code = exit_->signal ? kExitSignalBase + *exit_->signal : *exit_->code;
  if (stopped_) {
    view.status = *stopped_;
    if (*stopped_ == Status::Timeout) view.exit_code = kExitTimeout;
    if (!view.exit_code) view.exit_code = kExitSignalBase + SIGKILL;
  } else if (exit_) {
    view.status = Status::Completed;
  }
  return view;
}

void Execution::watch(Stream stream) {
  pipe(stream).descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                     [self = shared_from_this(), stream](boost::system::error_code ec) {
                                       if (ec) return;  // closed at the end
                                       self->read(stream);
                                       if (self->pipe(stream).open) self->watch(stream);
                                       self->end_if_over();
                                     });
}

/// Empties a pipe into the log, or takes its turn's share of it; notes its end.
void Execution::read(Stream stream) {
  Pipe& from = pipe(stream);
  auto& buffer = context_.read_buffer;
  for (int turn = 0; turn < limits::kReadsPerTurn && from.open; ++turn) {
    const auto size = sys::call(
        "read", [&] { return ::read(from.descriptor.native_handle(), buffer.data(), buffer.size()); });
    if (!size && size.error().number == EAGAIN) return;
    if (!size || *size == 0) {
      from.open = false;
    } else {
      log_.append(stream, {buffer.data(), static_cast<std::size_t>(*size)});
    }
  }
}

void Execution::stop(Status why) {
  if (stopped_ || !on_end_) return;
  stopped_ = why;
  timer_.cancel();
  // First by its pidfd: a child that has not come as far as to carry the mark dies too.
  context_.reaper.signal(pid_, SIGKILL);
  context_.trees.kill(tree_, [self = shared_from_this()](TreeDeath death) {
    self->context_.reaper.sweep();  // a dead shell's exit may not have been told yet
    self->tree_death_ = death;
    if (death == TreeDeath::Overdue) log::error(self->id_ + ": processes outlive SIGKILL");
    self->end_if_over();
  });
}

void Execution::kill_now() {
  context_.reaper.signal(pid_, SIGKILL);
  context_.trees.kill_once(tree_);
}

void Execution::end_if_over() {
  // Where the shell was killed but not reaped, another process traces it and has its exit: not to be waited
  // for.
  const bool shell_gone = exit_.has_value() || tree_death_.has_value();
  const bool output_over =
      stopped_ ? tree_death_.has_value() : !pipe(Stream::Stdout).open && !pipe(Stream::Stderr).open;
  if (shell_gone && output_over) end();
}

void Execution::end() {
  if (!on_end_) return;
  timer_.cancel();
  for (const auto stream : {Stream::Stdout, Stream::Stderr}) {
    if (!pipes_[static_cast<std::size_t>(stream)]) continue;
    read(stream);  // what a killed tree left behind; the pipe holds no more than a turn reads
    pipe(stream).descriptor.close();
  }
  launched_.reset();
  tree_ = Tree();
  duration_ =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
  std::exchange(on_end_, nullptr)(*this);
}

}  // namespace roombox
