#include "container/shell.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "container/launch_error.h"
#include "container/limits.h"
#include "container/sys/parse.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

/// The numbers that the loop's descriptors are given with.
enum Inherited { kControl = limits::kInherited, kText, kOut, kErr, kIn, kEnd };
static_assert(kControl == 50 && kIn == 54, "kLoop says the numbers");
static_assert(kEnd <= limits::kInheritedEnd);

/// The FIFO of stdin, as the loop knows it.
constexpr char kInPath[] = "/proc/self/fd/17";

/// What the loop says in a token's place before the first call.
constexpr char kBegun[] = "begun";

/// The loop. It must hold whatever commands do to the shell that it shares with them:
///
/// - its descriptors are hidden. Bash opens none that is closed at exec, but makes such copies of those that
/// a
///   redirection of a group replaces or closes, from 10 on: they are what the loop uses, 13 to 17, and what
///   it was given is closed. (10 to 12 are of no use, for commands like `exec 10>file`.) That they are right
///   is known once it has said on 13 that it has begun;
/// - the one variable is named so that nobody else's is; the loop's commands are builtins by `builtin`, since
///   a function may have any builtin's name;
/// - a command's `break` or `continue` reaches the loop: then the inner loop begins anew, which reports
/// first;
/// - builtins that a command has disabled are enabled before they are used;
/// - mapfile reads neither by IFS nor by TMOUT as read(1) would, and takes a file in few reads;
/// - the report and the wait are a loop's condition, so that `set -e` does not end the shell by them, as it
///   does by a command that fails: then as if that were the last of a script;
/// - eval's own redirections come after traps (DEBUG) and traces (`set -x`) of the eval itself, which so get
///   lost in /dev/null, and they are taken back at its end, an `exec >file` of the command with them;
/// - the last of these leaves a trace, without which (`set -r` forbids them), or without whose variable,
/// there
///   is no report: `:?` ends the shell;
/// - `>|`, for `set -C`.
///
/// On one line, for then the lines of commands are counted from 1. Bash before 4.4 lacks `mapfile -d`: it
/// ends before it says that it has begun.
constexpr char kLoop[] =
    R"loop(((BASH_VERSINFO[0]*100+BASH_VERSINFO[1]>=404)) || exit; shopt -s expand_aliases; )loop"
    R"loop({ __roombox=(begun '' '' 1); while :; do )loop"
    R"loop(while __roombox[4]=$?; builtin enable eval mapfile printf; )loop"
    R"loop(builtin printf '%s %s%.0s\n' "${__roombox[0]:?}" "${__roombox[4]}" "${__roombox[3]:?}" >&13; )loop"
    R"loop(builtin mapfile -t -n 1 -u 13 __roombox && [[ ${__roombox-} ]] || builtin exit 1; do )loop"
    R"loop(builtin mapfile -d '' -t __roombox </proc/self/fd/14; )loop"
    R"loop(builtin eval -- "${__roombox[1]}" <"${__roombox[2]}" >|/proc/self/fd/15 )loop"
    R"loop(2>|"/proc/self/fd/$((__roombox[3]=16))"; done; done; } )loop"
    R"loop(</dev/null >/dev/null 2>/dev/null 50<&- 51<&- 52<&- 53<&- 54<&-)loop";

Error to_error(const sys::Failure& failure) {
  return {ErrorCode::ExecutionFailed, "sandbox execution failed: " + failure.text()};
}

std::string random_token() {
  std::uint64_t number = 0;
  // Up to 256 bytes are never cut short, and fail on no kernel that has the call (getrandom(2)).
  static_cast<void>(sys::call("getrandom", [&] { return ::getrandom(&number, sizeof number, 0); }));
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(number));
  return hex;
}

/// Bytes of one sender, and that; none at the end or where there are none yet, with errno 0 at the end.
struct Received {
  ssize_t size;
  pid_t sender;
};

Received receive_from(int socket, char* bytes, std::size_t capacity) {
  iovec part{bytes, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto size = sys::call("recvmsg", [&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
  if (!size) return {-1, 0};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_CREDENTIALS) return {*size, 0};
  ucred sender{};
  std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
  return {*size, sender.pid};
}

}  // namespace

std::optional<Error> Shell::start(SpawnRequest request) {
  directory_ = request.directory;
  path_ = request.shell;
  if (std::string_view(path_).substr(path_.rfind('/') + 1) != "bash")
    return Error{ErrorCode::ExecutionFailed, std::string(messages::kNoBash)};
  for (auto* fifo : {&out_, &err_, &in_}) {
    auto made = NamelessFifo::make(request.account->uid);
    if (!made) return to_error(made.error());
    fifo->emplace(std::move(*made));
  }
  if (const auto failure = spawn_bash(std::move(request))) return to_error(*failure);
  is_usable_ = true;
  await_report();
  return std::nullopt;
}

/// The agent's end of the control socket becomes control_; answers the shell's.
Result<sys::Fd, sys::Failure> Shell::open_control() {
  int ends[2];
  auto made =
      sys::call("socketpair", [&] { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); });
  if (!made) return made.error();
  sys::Fd ours(ends[0]), theirs(ends[1]);
  const int on = 1;
  auto told = sys::call("setsockopt",
                        [&] { return ::setsockopt(ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on); });
  if (!told) return told.error();
  auto set = sys::call("fcntl", [&] { return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK); });
  if (!set) return set.error();
  auto moved = sys::move_above(theirs, limits::kInheritedEnd);
  if (!moved) return moved.error();
  control_.assign(ours.release());
  return theirs;
}

/// The file in memory becomes text_; answers the shell's descriptor of it, which only reads, as does whoever
/// opens the file anew.
Result<sys::Fd, sys::Failure> Shell::open_text() {
  constexpr mode_t kReadOnly = 0444;
  auto made = sys::call("memfd_create", [] { return ::memfd_create("command", MFD_CLOEXEC); });
  if (!made) return made.error();
  text_ = sys::Fd(*made);
  auto set = sys::call("fchmod", [&] { return ::fchmod(text_.get(), kReadOnly); });
  if (!set) return set.error();
  const std::string path = "/proc/self/fd/" + std::to_string(text_.get());
  auto opened = sys::call("open", [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (!opened) return opened.error();
  sys::Fd theirs(*opened);
  auto moved = sys::move_above(theirs, limits::kInheritedEnd);
  if (!moved) return moved.error();
  return theirs;
}

std::optional<sys::Failure> Shell::spawn_bash(SpawnRequest request) {
  auto control = open_control();
  if (!control) return control.error();
  auto text = open_text();
  if (!text) return text.error();
  auto null = sys::call("open", [] { return ::open("/dev/null", O_RDWR | O_CLOEXEC); });
  if (!null) return null.error();
  const sys::Fd dev_null(*null);
  request.inherited = {control->get(), text->get()};
  std::array<sys::Fd, 3> names;
  for (std::size_t i = 0; const auto* fifo : {&out_, &err_, &in_}) {
    auto copy = sys::call(
        "fcntl", [&] { return ::fcntl((*fifo)->name().get(), F_DUPFD_CLOEXEC, limits::kInheritedEnd); });
    if (!copy) return copy.error();
    names[i++] = sys::Fd(*copy);
    request.inherited.push_back(*copy);
  }
  request.arguments = {"bash", "-c", kLoop};
  request.stdin_kind = Stdin::Null;
  request.stdin_fd = dev_null.get();
  request.output = Output::Stdin;
  tree_ = trees_.begin();
  request.tree = &tree_;
  auto spawned = spawn(std::move(request));
  if (!spawned) return spawned.error();
  pid_ = spawned->pid;
  launch_ = std::move(spawned->launch);
  watch_launch(std::move(spawned->launched));
  reaper_.watch(pid_, std::move(spawned->pidfd),
                [self = shared_from_this()](Exit exit) { self->on_exit(exit); });
  return std::nullopt;
}

void Shell::watch_launch(sys::Fd launched) {
  launched_.emplace(io_, launched.release());
  await_launch();
}

void Shell::await_launch() {
  launched_->async_wait(asio::posix::descriptor_base::wait_read,
                        [self = shared_from_this()](boost::system::error_code ec) {
                          if (ec || !self->launched_) return;
                          if (!has_launched(self->launched_->native_handle())) return self->await_launch();
                          self->settle_launch();
                        });
}

void Shell::settle_launch() {
  if (!launch_) return;
  launch_failure_ = launch_failure(*launch_);
  launch_.reset();
  launched_.reset();
  if (!has_ended_) offer_to_oom_killer(pid_);
}

std::optional<Error> Shell::error() const {
  if (launch_failure_) return launch_error(*launch_failure_, directory_, path_);
  if (has_ended_ && !has_begun_) return Error{ErrorCode::ExecutionFailed, std::string(messages::kNoBash)};
  return std::nullopt;
}

Result<Shell::Streams, Error> Shell::run(std::string_view command, Input input, Call call) {
  running_.emplace(Running{std::move(call), random_token(), {}, {}, {}});
  auto streams = open_streams();
  std::optional<Error> error;
  if (!streams) error = to_error(streams.error());
  if (!error && input == Input::Pipe) error = open_input(*streams);
  if (!error) {
    if (const auto failure = write_text(command, input)) error = to_error(*failure);
  }
  if (error) {
    running_.reset();
    return *error;
  }
  constexpr char kGo[] = {'g', '\n'};
  // Where it fails the shell has just ended, which on_exit is told of.
  static_cast<void>(::send(control_.native_handle(), kGo, sizeof kGo, MSG_NOSIGNAL));
  return std::move(*streams);
}

/// Three strings, each with its NUL: the token, the command, what its stdin is.
std::optional<sys::Failure> Shell::write_text(std::string_view command, Input input) {
  std::string text = running_->token;
  text.reserve(text.size() + command.size() + 32);
  text.append(1, '\0').append(command).append(1, '\0');
  text.append(input == Input::Pipe ? kInPath : "/dev/null").append(1, '\0');
  for (std::size_t written = 0; written < text.size();) {
    auto size = sys::call("write", [&] {
      return ::pwrite(text_.get(), text.data() + written, text.size() - written, static_cast<off_t>(written));
    });
    if (!size) return size.error();
    written += static_cast<std::size_t>(*size);
  }
  auto cut =
      sys::call("ftruncate", [&] { return ::ftruncate(text_.get(), static_cast<off_t>(text.size())); });
  if (!cut) return cut.error();
  return std::nullopt;
}

Result<Shell::Streams, sys::Failure> Shell::open_streams() {
  Streams streams;
  auto out = out_->open_read_end();
  if (!out) return out.error();
  streams.out = std::move(*out);
  auto err = err_->open_read_end();
  if (!err) return err.error();
  streams.err = std::move(*err);
  out = out_->open_write_end();
  if (!out) return out.error();
  running_->out = std::move(*out);
  err = err_->open_write_end();
  if (!err) return err.error();
  running_->err = std::move(*err);
  return streams;
}

std::optional<Error> Shell::open_input(Streams& streams) {
  auto in = in_->open_write_end();
  if (!in) return to_error(in.error());
  if (!is_unread(*in)) return Error{ErrorCode::Conflict, std::string(messages::kShellStdinHeld)};
  streams.in = std::move(*in);
  in = in_->open_read_end();
  if (!in) return to_error(in.error());
  running_->in = std::move(*in);
  return std::nullopt;
}

void Shell::await_report() {
  control_.async_wait(asio::posix::descriptor_base::wait_read,
                      [weak = weak_from_this()](boost::system::error_code ec) {
                        const auto self = weak.lock();
                        if (!ec && self) self->receive();
                      });
}

void Shell::receive() {
  std::array<char, 512> bytes;
  for (;;) {
    const auto [size, sender] = receive_from(control_.native_handle(), bytes.data(), bytes.size());
    if (size < 0) return await_report();
    if (size == 0) break;
    if (sender == pid_) take({bytes.data(), static_cast<std::size_t>(size)});
    if (!control_.is_open()) return;
  }
  // All copies are closed: by the end of the shell, by an `exec` that has taken its place and will end with a
  // status of its own, or by a command that closed whatever it found; then the loop cannot go on and ends.
  is_usable_ = false;
}

void Shell::take(std::string_view bytes) {
  constexpr std::size_t kLongest = 64;  // more is no report of the loop's
  for (const char byte : bytes) {
    if (byte == '\n') {
      on_report(std::exchange(line_, {}));
    } else if (line_.size() < kLongest) {
      line_ += byte;
    }
  }
}

void Shell::on_report(std::string_view line) {
  const auto blank = std::min(line.find(' '), line.size());
  const auto token = line.substr(0, blank);
  if (token == kBegun) has_begun_ = true;
  if (!running_ || token != running_->token) return;
  const auto status = sys::parse<int>(line.substr(std::min(blank + 1, line.size())));
  const auto ended = std::exchange(running_, std::nullopt)->call;  // with it our ends of its streams
  ended.on_status(status.value_or(0) & 0xFF);
}

void Shell::on_exit(Exit exit) {
  has_ended_ = true;
  is_usable_ = false;
  if (control_.is_open()) receive();  // its last words
  settle_launch();
  control_.close();
  if (auto running = std::exchange(running_, std::nullopt)) {
    running->out.reset();
    running->err.reset();
    running->call.on_exit(exit);
  }
  if (const auto ended = std::exchange(on_end_, nullptr)) ended();
}

void Shell::kill(std::function<void(TreeDeath)> done) {
  is_usable_ = false;
  // First by its pidfd: one that has not come as far as to carry the mark dies too.
  reaper_.signal(pid_, SIGKILL);
  trees_.kill(tree_, std::move(done));
}

void Shell::kill_now() {
  is_usable_ = false;
  reaper_.signal(pid_, SIGKILL);
  trees_.kill_once(tree_);
}

void Shell::close() {
  is_usable_ = false;
  boost::system::error_code ignored;
  control_.close(ignored);
}

}  // namespace roombox
