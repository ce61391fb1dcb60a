#include "tests/agent/bench/floor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "tests/agent/bench/child.h"
#include "tests/agent/bench/connection.h"

namespace roombox::bench::floor {
namespace {

/// A child by posix_spawn, with /dev/null as its stdin.
/// @param err -1 leaves it this process's own
pid_t spawn(std::vector<std::string> command, int out, int err) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (err >= 0) ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  std::vector<char*> argv;
  for (auto& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/bin:/bin";
  char* environment[] = {path, const_cast<char*>(kLanguage), nullptr};
  pid_t pid;
  const int failure = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) fail(command[0] + ": " + std::generic_category().message(failure));
  return pid;
}

/// A child that does that and ends, or ends with us.
template <typename Work>
pid_t fork_for(Work&& work) {
  const pid_t pid = must("fork", ::fork());
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  ::_exit(0);
}

std::pair<Fd, Fd> open_pipe() {
  int ends[2];
  must("pipe2", ::pipe2(ends, O_CLOEXEC));
  return {Fd(ends[0]), Fd(ends[1])};
}

void run_once(const std::string& shell, const std::string& cmd) {
  auto [out, out_write] = open_pipe();
  auto [err, err_write] = open_pipe();
  const pid_t pid = spawn({shell, "-c", cmd}, out_write.get(), err_write.get());
  out_write.reset();
  err_write.reset();
  await_end(pid, std::move(out), std::move(err));
}

/// Sizes of a request and of an answer, about those of the agent.
constexpr std::size_t kRequest = 100, kAnswer = 400;

/// False at the connection's end.
template <std::size_t kSize>
bool receive(const Fd& connection) {
  std::array<char, kSize> bytes;
  return ::recv(connection.get(), bytes.data(), kSize, MSG_WAITALL) == static_cast<ssize_t>(kSize);
}

void serve(const Fd& connection, const std::string& shell, const std::string& cmd) try {
  while (receive<kRequest>(connection)) {
    run_once(shell, cmd);
    send_all(connection.get(), std::string(kAnswer, '.'));
  }
} catch (const std::exception&) {
  ::shutdown(connection.get(), SHUT_RDWR);  // who waits for the answer tells of it
}

}  // namespace

void run(Shell shell, const std::string& cmd, int count, int threads) {
  const std::string path = path_of(shell);
  if (threads == 1) {  // a thread of its own would be part of what is measured
    for (int i = 0; i < count; ++i) run_once(path, cmd);
    return;
  }
  std::atomic<int> left = count;
  std::atomic<bool> failed = false;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      try {
        while (left.fetch_sub(1) > 0) run_once(path, cmd);
      } catch (const std::exception&) {
        failed = true;
      }
    });
  }
  for (auto& thread : running) thread.join();
  if (failed) fail("the floor could not run a command");
}

Ends open_tcp() {
  Fd listener(must("socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  auto address = loopback(0);
  socklen_t size = sizeof address;
  must("bind", ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size));
  must("listen", ::listen(listener.get(), 1));
  must("getsockname", ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size));
  Fd reading = connect_to(ntohs(address.sin_port));
  return {std::move(reading), Fd(must("accept4", ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)))};
}

Server::Server(Shell shell, const std::string& cmd)
    : connection_(open_tcp()),
      thread_([this, path = path_of(shell), cmd] { serve(connection_.writing, path, cmd); }) {}

Server::~Server() {
  ::shutdown(connection_.reading.get(), SHUT_RDWR);
  thread_.join();
}

void Server::run(int count) {
  for (int i = 0; i < count; ++i) {
    send_all(connection_.reading.get(), std::string(kRequest, '.'));
    if (!receive<kAnswer>(connection_.reading)) fail("the floor could not run a command");
  }
}

Ends open_terminal() {
  Fd ours(must("posix_openpt", ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)));
  int locked = 0;
  must("ioctl", ::ioctl(ours.get(), TIOCSPTLCK, &locked));
  Fd theirs(must("ioctl", ::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)));
  termios settings;
  must("tcgetattr", ::tcgetattr(theirs.get(), &settings));
  ::cfmakeraw(&settings);
  settings.c_lflag |= ECHO;
  must("tcsetattr", ::tcsetattr(theirs.get(), TCSANOW, &settings));
  return {std::move(ours), std::move(theirs)};
}

Relay::Relay() {
  Ends tcp = open_tcp(), terminal = open_terminal();
  const int on = 1;
  must("setsockopt", ::setsockopt(tcp.writing.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  const int client = tcp.writing.get(), ours = terminal.reading.get(), theirs = terminal.writing.get();
  char byte;
  command_ = fork_for([&] {
    while (::read(theirs, &byte, 1) == 1) continue;
  });
  relay_ = fork_for([&] {
    while (::read(client, &byte, 1) == 1 && ::write(ours, &byte, 1) == 1 && ::read(ours, &byte, 1) == 1 &&
           ::send(client, &byte, 1, 0) == 1)
      continue;
  });
  connection_ = std::move(tcp.reading);
}

Relay::~Relay() {
  for (const pid_t pid : {relay_, command_}) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

Cat::Cat(const std::string& file, Ends ends)
    : pid_(spawn({"/bin/cat", file}, ends.writing.get(), -1)), output_(std::move(ends.reading)) {}

Cat::~Cat() {
  output_.reset();
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace roombox::bench::floor
