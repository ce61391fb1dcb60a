#include "tests/agent/bench/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace roombox::bench {
namespace {

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

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& command) {
  int log[2];
  must("pipe2", ::pipe2(log, O_CLOEXEC));
  Fd reading(log[0]), writing(log[1]);
  std::vector<char*> argv;
  for (const auto& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* environment[] = {path, nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  const int failure = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (failure != 0) fail(command[0] + ": " + std::generic_category().message(failure));

  static const std::string kAddress = "127.0.0.1:";
  const std::string line = read_line(reading.get());
  const auto at = line.find(kAddress);
  if (at == line.npos) fail(command[0] + " said: " + line);
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(at + kAddress.size())));
  log_ = std::thread([reading = std::move(reading)]() mutable { forward(std::move(reading)); });
}

ServerProcess::~ServerProcess() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  log_.join();
}

std::vector<std::string> agent_command(const std::string& binary, const std::string& user) {
  return {binary, "--address=127.0.0.1", "--port=0", "--user=" + user,
          "--workspace=/tmp/roombox-bench-" + user};
}

long process_status(pid_t pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  }
  fail("no " + field + " of process " + std::to_string(pid));
}

}  // namespace roombox::bench
