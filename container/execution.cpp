#include "container/execution.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "container/launch_error.h"
#include "container/limits.h"
#include "container/log.h"
#include "container/shell.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/signals.h"

namespace roombox {
namespace {

constexpr int kExitTimeout = 124;     // as timeout(1) answers
constexpr int kExitSignalBase = 128;  // as every shell answers for a signal

}  // namespace

Execution::Execution(ExecutionContext context, std::string id, ExecRequest request)
    : context_(context),
      id_(std::move(id)),
      request_(std::move(request)),
      timer_(context.io),
      disconnected_(context.io),
      log_({limits::kStoredOutput, limits::kKeptOutput, limits::kKeptRuns}) {
  arguments_ = joined_arguments(request_);
  request_.args.reset();
}

void Execution::start(SpawnRequest spawn_request) {
  tree_ = context_.trees.begin();
  spawn_request.tree = &tree_;
  oom_kills_before_ = context_.oom_counter.count();
  std::string directory = spawn_request.directory, shell = spawn_request.shell;
  auto spawned = spawn(std::move(spawn_request));
  if (!spawned) {
    error_ = Error{ErrorCode::ExecutionFailed, "sandbox execution failed: " + spawned.error().text()};
    return asio::post(context_.io, [self = shared_from_this()] { self->end(); });
  }
  pid_ = spawned->pid;
  launch_ = std::move(spawned->launch);
  take_streams(std::move(spawned->out), std::move(spawned->err), std::move(spawned->in));
  watch_launch(std::move(spawned->launched), std::move(directory), std::move(shell));
  context_.reaper.watch(pid_, std::move(spawned->pidfd),
                        [self = shared_from_this()](Exit exit) { self->on_exit(exit); });
  read_on();
  start_timeout();
}

void Execution::wait_for_shell() {
  waits_ = true;
  start_timeout();
  // Later: who waits to hear of it has not been told of yet. An execution that has to wait has begun for its
  // caller: a detached one is answered, a stream is there.
  asio::post(context_.io, [self = shared_from_this()] {
    if (self->ended_ || self->error_) return;
    for (const auto& callback : std::exchange(self->on_started_, {})) callback(*self);
  });
}

void Execution::start_in(std::shared_ptr<Shell> shell) {
  waits_ = false;
  shell_ = std::move(shell);
  oom_kills_before_ = context_.oom_counter.count();
  const auto input = request_.stdin_text ? Shell::Input::Pipe : Shell::Input::Null;
  auto streams = shell_->run(request_.cmd, input,
                             {[weak = weak_from_this()](int status) {
                                if (const auto self = weak.lock()) self->on_status(status);
                              },
                              [weak = weak_from_this()](Exit exit) {
                                if (const auto self = weak.lock()) self->on_shell_exit(exit);
                              }});
  if (!streams) return refuse(std::move(streams.error()));
  take_streams(std::move(streams->out), std::move(streams->err), std::move(streams->in));
  read_on();
}

void Execution::refuse(Error error) {
  waits_ = false;
  error_ = std::move(error);
  on_started_.clear();
  asio::post(context_.io, [self = shared_from_this()] { self->end(); });
}

void Execution::take_streams(sys::Fd out, sys::Fd err, sys::Fd in) {
  pipes_[0].emplace(Pipe{Descriptor(context_.io, out.release())});
  if (err) pipes_[1].emplace(Pipe{Descriptor(context_.io, err.release())});
  if (in) stdin_ = std::make_shared<StdinWriter>(context_.io, std::move(in));
  if (stdin_ && request_.stdin_text) {
    stdin_->write(*std::exchange(request_.stdin_text, std::nullopt), nullptr);
    stdin_->close();
  }
  // Later: the reader that releases is in the middle of what reading on would change.
  log_.on_released([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) asio::post(self->context_.io, [self] { self->read_on(); });
  });
}

void Execution::start_timeout() {
  if (!request_.timeout) return;
  timer_.expires_after(*request_.timeout);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled) self->stop(Status::Timeout);
  });
}

void Execution::watch_launch(sys::Fd launched, std::string directory, std::string shell) {
  settle_launch_ = [this, directory = std::move(directory), shell = std::move(shell)] {
    if (const auto failure = launch_failure(*launch_)) error_ = launch_error(*failure, directory, shell);
    launch_.reset();
    launched_.reset();
    if (!exit_) offer_to_oom_killer(pid_);
    if (error_) return on_started_.clear();
    for (const auto& callback : std::exchange(on_started_, {})) callback(*this);
  };
  launched_.emplace(context_.io, launched.release());
  await_launch();
}

void Execution::await_launch() {
  launched_->async_wait(asio::posix::descriptor_base::wait_read,
                        [self = shared_from_this()](boost::system::error_code ec) {
                          if (ec || !self->launched_) return;
                          if (!has_launched(self->launched_->native_handle())) return self->await_launch();
                          // After what else this turn tells: a shell that has ended needs no score.
                          asio::post(self->context_.io, [self] {
                            if (const auto settle = std::exchange(self->settle_launch_, nullptr)) settle();
                          });
                        });
}

void Execution::on_exit(Exit exit) {
  exit_ = exit;
  if (const auto settle = std::exchange(settle_launch_, nullptr)) settle();
  // What the kernel kills for want of memory ends by SIGKILL, of itself or as the shell tells it of its
  // child.
  const bool killed = exit.signal == SIGKILL || exit.code == kExitSignalBase + SIGKILL;
  oom_ = killed && !stopped_ && signalled_ != SIGKILL && context_.oom_counter.count() > oom_kills_before_;
  end_if_over();
  if (ended_ || stopped_ || !request_.terminal) return;
  timer_.expires_after(limits::kTerminalLinger);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled && !self->stopped_) self->end();
  });
}

/// The end of its command in a persistent shell. What that wrote is in the pipes by now: most often that is
/// all, and its end.
void Execution::on_status(int status) {
  for (const auto stream : {Stream::Stdout, Stream::Stderr}) {
    if (pipe(stream).open && !log_.is_held()) read(stream);
  }
  log_.wake_readers();
  on_exit({status, std::nullopt});
}

void Execution::on_shell_exit(Exit exit) {
  error_ = shell_->error();
  shell_exited_ = !error_;
  on_exit(exit);
}

void Execution::end_input() {
  constexpr char kEndOfTransmission[] = "\x04";  // VEOF, as terminals are set up: termios(3)
  if (!stdin_ || stdin_->is_closed()) return;
  if (!request_.terminal) return stdin_->close();
  stdin_->write(kEndOfTransmission, nullptr);
}

bool Execution::resize(TerminalSize size) {
  if (ended_ || !request_.terminal || !pipes_[0]) return false;
  const winsize cells{size.rows, size.cols, 0, 0};
  return ::ioctl(pipe(Stream::Stdout).descriptor.native_handle(), TIOCSWINSZ, &cells) == 0;
}

void Execution::await_client() {
  first_client_ =
      std::make_unique<LogReader>(log_, log_.begin(), LogReader::Pace::Reader, limits::kStreamBehind, [] {});
  disconnected_.expires_after(limits::kFirstClient);
  disconnected_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled) self->first_client_.reset();
  });
}

std::shared_ptr<void> Execution::attach() {
  ++attached_;
  disconnected_.cancel();
  first_client_.reset();
  return {nullptr, [weak = weak_from_this()](std::nullptr_t) {
            if (const auto self = weak.lock()) self->detach();
          }};
}

void Execution::detach() {
  if (--attached_ > 0 || ended_ || !request_.max_run_after_disconnect) return;
  disconnected_.expires_after(*request_.max_run_after_disconnect);
  disconnected_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled && self->attached_ == 0) self->cancel();
  });
}

Status Execution::status() const {
  if (!ended_) return Status::Running;
  if (stopped_) return *stopped_;
  if (!exit_ || error_) return Status::Failed;
  const bool by_request =
      signalled_ != 0 && (exit_->signal == signalled_ || exit_->code == kExitSignalBase + signalled_);
  return by_request ? Status::Cancelled : Status::Completed;
}

ExecutionView Execution::view() const {
  ExecutionView view;
  view.id = id_;
  view.mode = request_.mode;
  view.encoding = request_.encoding;
  view.out = log_.stored(Stream::Stdout);
  view.err = log_.stored(Stream::Stderr);
  view.runs = viewed_runs_ = log_.stored_runs();
  view.total = log_.end();
  view.truncated = log_.truncated();
  view.oom = oom_;
  view.command = request_.cmd;
  view.arguments = arguments_;
  view.attached = ended_ ? 0 : attached_;
  view.shell = request_.shell;
  view.shell_exited = shell_exited_;
  view.started_at = started_at_;
  if (error_) view.error = &*error_;
  view.status = status();
  if (!ended_) return view;
  view.duration = duration_;
  view.finished_at = started_at_ + *duration_;
  if (exit_ && exit_->signal) view.signal = signal_name(*exit_->signal);
  if (exit_ && !error_) view.exit_code = exit_->signal ? kExitSignalBase + *exit_->signal : *exit_->code;
  if (stopped_ == Status::Timeout) view.exit_code = kExitTimeout;
  if (stopped_ && !view.exit_code) view.exit_code = kExitSignalBase + SIGKILL;
  return view;
}

void Execution::watch(Stream stream) {
  pipe(stream).watched = true;
  pipe(stream).descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                     [self = shared_from_this(), stream](boost::system::error_code ec) {
                                       if (ec) return;  // closed at the end
                                       self->pipe(stream).watched = false;
                                       self->read(stream);
                                       self->log_.wake_readers();
                                       self->read_on();
                                       self->end_if_over();
                                     });
}

/// Goes on reading, unless the client for whom it runs is to catch up first.
void Execution::read_on() {
  if (ended_ || log_.is_held()) return;
  for (const auto stream : {Stream::Stdout, Stream::Stderr}) {
    const auto& pipe = pipes_[static_cast<std::size_t>(stream)];
    if (pipe && pipe->open && !pipe->watched) watch(stream);
  }
}

/// Empties a pipe into the log, or takes its turn's share of it; notes its end. Readers are told afterwards.
void Execution::read(Stream stream) {
  const bool is_terminal = request_.terminal.has_value();
  const int turn = is_terminal ? limits::kTerminalReadsPerTurn : limits::kReadsPerTurn;
  const auto began = std::chrono::steady_clock::now();
  for (int reads = 0; reads < turn && pipe(stream).open; ++reads) {
    const std::size_t size = read_once(stream);
    if (size == 0) return;
    if (ended_) continue;
    if (log_.is_held()) return;
    if (!is_terminal) continue;
    // Short of a terminal's most it is empty now: the echo of a key is not to wait for the kernel to say so.
    if (size < limits::kTerminalRead || std::chrono::steady_clock::now() - began >= limits::kTerminalTurn)
      return;
  }
}

/// Bytes that came from a pipe into the log: none where there are none yet, and at its end, which is noted.
std::size_t Execution::read_once(Stream stream) {
  Pipe& from = pipe(stream);
  auto& buffer = context_.read_buffer;
  const auto size = sys::call(
      "read", [&] { return ::read(from.descriptor.native_handle(), buffer.data(), buffer.size()); });
  if (!size && size.error().number == EAGAIN) return 0;
  if (!size || *size == 0) {
    from.open = false;
    return 0;
  }
  const auto bytes = static_cast<std::size_t>(*size);
  if (bytes == buffer.size() && !std::exchange(from.widened, true))
    ::fcntl(from.descriptor.native_handle(), F_SETPIPE_SZ, limits::kBusyPipe);  // at worst it stays narrow
  context_.counters.output_bytes[static_cast<std::size_t>(stream)] += bytes;
  log_.append(stream, {buffer.data(), bytes});
  return bytes;
}

void Execution::signal(int number) {
  if (ended_) return;
  signalled_ = number;
  if (number == SIGKILL || waits_) return stop(Status::Cancelled);
  shell_ ? shell_->signal(number) : context_.trees.signal(tree_, number);
}

void Execution::stop(Status why) {
  if (stopped_ || ended_ || (!pipes_[0] && !waits_)) return;
  stopped_ = why;
  timer_.cancel();
  if (waits_) return end();
  auto on_death = [self = shared_from_this()](TreeDeath death) {
    self->context_.reaper.sweep();  // a dead shell's exit may not have been told yet
    self->tree_death_ = death;
    if (death == TreeDeath::Overdue) log::error(self->id_ + ": processes outlive SIGKILL");
    self->end_if_over();
  };
  if (shell_) {
    shell_exited_ = true;
    return shell_->kill(std::move(on_death));
  }
  // First by its pidfd: a child that has not come as far as to carry the mark dies too.
  context_.reaper.signal(pid_, SIGKILL);
  context_.trees.kill(tree_, std::move(on_death));
}

void Execution::kill_now() {
  if (waits_) return;
  if (shell_) return shell_->kill_now();
  context_.reaper.signal(pid_, SIGKILL);
  context_.trees.kill_once(tree_);
}

bool Execution::is_any_pipe_open() const {
  return std::any_of(pipes_.begin(), pipes_.end(), [](const auto& pipe) { return pipe && pipe->open; });
}

void Execution::end_if_over() {
  // Where the shell was killed but not reaped, another process traces it and has its exit: not to be waited
  // for.
  const bool shell_gone = exit_.has_value() || tree_death_.has_value();
  const bool output_over = stopped_ ? tree_death_.has_value() : !is_any_pipe_open();
  if (shell_gone && output_over) end();
}

void Execution::count_end() {
  auto& counters = context_.counters;
  ++counters.ended[static_cast<std::size_t>(status())];
  if (oom_) ++counters.out_of_memory;
  counters.duration.add(*duration_);
}

void Execution::end() {
  if (std::exchange(ended_, true)) return;
  timer_.cancel();
  disconnected_.cancel();
  first_client_.reset();
  for (const auto stream : {Stream::Stdout, Stream::Stderr}) {
    if (!pipes_[static_cast<std::size_t>(stream)]) continue;
    read(stream);  // what a killed tree left behind; the pipe holds no more than a turn reads
    pipe(stream).descriptor.close();
  }
  if (stdin_) stdin_->abort();
  settle_launch_ = nullptr;
  launched_.reset();
  launch_.reset();
  tree_ = Tree();
  shell_.reset();
  waits_ = false;
  duration_ =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
  count_end();
  for (const auto& callback : std::exchange(on_end_, {})) callback(*this);
  log_.wake_readers();
}

}  // namespace roombox
