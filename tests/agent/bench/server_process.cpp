#include "tests/agent/bench/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/agent/bench/child.h"
#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

constexpr std::chrono::seconds kStart{10};
constexpr std::chrono::microseconds kLook{200};

std::string read_line(int fd) {
  std::string line;
  for (char byte; ::read(fd, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

void forward(Fd log) {
  char bytes[4096];
  for (ssize_t size; (size = ::read(log.get(), bytes, sizeof bytes)) > 0;) {
    if (::write(STDERR_FILENO, bytes, static_cast<std::size_t>(size)) < 0) return;
  }
}

bool accepts_connections(std::uint16_t port) {
  const Fd socket(must("socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  const auto address = loopback(port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// @param log what its stdout and stderr go to
pid_t spawn(const std::vector<std::string>& command, int log) {
  std::vector<char*> argv;
  for (const auto& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* environment[] = {path, const_cast<char*>(kLanguage), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
  pid_t pid;
  const int failure = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) fail(command[0] + ": " + std::generic_category().message(failure));
  return pid;
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& command) {
  int log[2];
  must("pipe2", ::pipe2(log, O_CLOEXEC));
  Fd reading(log[0]), writing(log[1]);
  pid_ = spawn(command, writing.get());
  writing.reset();

  static const std::string kAddress = "127.0.0.1:";
  const std::string line = read_line(reading.get());
  const auto at = line.find(kAddress);
  if (at == line.npos) fail(command[0] + " said: " + line);
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(at + kAddress.size())));
  log_ = std::thread([reading = std::move(reading)]() mutable { forward(std::move(reading)); });
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, std::uint16_t port) : port_(port) {
  const Fd nowhere(must("open", ::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  pid_ = spawn(command, nowhere.get());
  const auto deadline = Clock::now() + kStart;
  while (!accepts_connections(port)) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) fail("its server ended at once");
    if (Clock::now() > deadline) {
      end();
      fail("its server does not listen");
    }
    std::this_thread::sleep_for(kLook);  // no event tells
  }
}

ServerProcess::~ServerProcess() {
  end();
  if (log_.joinable()) log_.join();
}

void ServerProcess::end() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

std::uint16_t free_port() {
  const Fd socket(must("socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  auto address = loopback(0);
  socklen_t size = sizeof address;
  must("bind", ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size));
  must("getsockname", ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size));
  return ntohs(address.sin_port);
}

std::vector<std::string> agent_command(const std::string& binary, const std::string& user,
                                       std::uint16_t port) {
  return {binary, "--address=127.0.0.1", "--port=" + std::to_string(port), "--user=" + user,
          "--workspace=/tmp/roombox-bench-" + user};
}

long process_status(pid_t pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  }
  fail("no " + field + " of process " + std::to_string(pid));
}

void begin_peak(pid_t pid) {
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << 5;  // proc(5)
}

}  // namespace roombox::bench
