// What the agent adds to the kernel's own price of a command. Prints a table; figures of one run belong
// together.
//
//   agent_bench <path of roombox-agent> [rounds]
//
// The floor is the same shell, `-c true`, by posix_spawn(3) (a vfork inside), two pipes read to their end,
// and a wait. Floor and agent take turns, so that what else the machine does hits both.

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

class Samples {
 public:
  template <typename Call>
  void time(Call call) {
    const auto began = Clock::now();
    call();
    values_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }

  /// Milliseconds below which the share of all samples lies.
  double quantile(double share) {
    std::sort(values_.begin(), values_.end());
    return values_[static_cast<std::size_t>(share * static_cast<double>(values_.size() - 1))];
  }

 private:
  std::vector<double> values_;
};

void drain(int out, int err) {
  pollfd pipes[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  char bytes[65536];
  for (int open = 2; open > 0;) {
    if (::poll(pipes, 2, -1) < 0) die("poll");
    for (auto& pipe : pipes) {
      if (pipe.fd < 0 || pipe.revents == 0 || ::read(pipe.fd, bytes, sizeof bytes) > 0) continue;
      ::close(pipe.fd);
      pipe.fd = -1;
      --open;
    }
  }
}

void spawn_floor(const char* shell) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) die("pipe2");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  char name[] = "shell", option[] = "-c", command[] = "true", path[] = "PATH=/usr/bin:/bin";
  char* argv[] = {name, option, command, nullptr};
  char* environment[] = {path, nullptr};
  pid_t pid;
  if (::posix_spawn(&pid, shell, &actions, nullptr, argv, environment) != 0) die("posix_spawn");
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  drain(out[0], err[0]);
  int status;
  if (::waitpid(pid, &status, 0) != pid || status != 0) die("waitpid");
}

class Agent {
 public:
  explicit Agent(char* binary) {
    int log[2];
    if (::pipe2(log, O_CLOEXEC) != 0) die("pipe2");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
    char address[] = "--address=127.0.0.1", port[] = "--port=0",
         workspace[] = "--workspace=/tmp/roombox-bench";
    char path[] = "PATH=/usr/bin:/bin";
    char* argv[] = {binary, address, port, workspace, nullptr};
    char* environment[] = {path, nullptr};
    if (::posix_spawn(&pid_, binary, &actions, nullptr, argv, environment) != 0) die(binary);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(log[1]);
    std::string line;
    for (char c; ::read(log[0], &c, 1) == 1 && c != '\n';) line += c;  // it logs once it listens
    ::close(log[0]);
    const auto at = line.find("127.0.0.1:");
    if (at == line.npos) die(line.c_str());
    port_ = std::atoi(line.c_str() + at + 10);
  }
  ~Agent() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  long resident_kib() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
    }
    return 0;
  }

  int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
    return socket;
  }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

/// Sends a request and takes its response, which must hold `expected`.
void exchange(int socket, const std::string& request, const char* expected) {
  if (::send(socket, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size())) die("send");
  std::string response;
  char bytes[65536];
  while (response.find(expected) == response.npos) {
    const auto size = ::recv(socket, bytes, sizeof bytes, 0);
    if (size <= 0) die("recv");
    response.append(bytes, static_cast<std::size_t>(size));
  }
}

void row(const char* name, Samples& samples, double floor) {
  const double p50 = samples.quantile(0.5);
  std::printf("%-34s p50 %7.3f ms   p99 %7.3f ms   %5.2f x floor\n", name, p50, samples.quantile(0.99),
              p50 / floor);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: agent_bench <path of roombox-agent> [rounds]\n", stderr);
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
  const char* shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";

  Samples start;
  for (int i = 0; i < 30; ++i) {
    std::optional<Agent> started;
    start.time([&] { started.emplace(argv[1]); });
  }
  Agent agent(argv[1]);
  const long idle = agent.resident_kib();

  const int socket = agent.connect();
  const std::string body = R"({"cmd":"true"})";
  const std::string run =
      "POST /executions HTTP/1.1\r\nHost: sandbox\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  Samples floor, execution, round_trip;
  for (int i = -20; i < rounds; ++i) {
    if (i == 0) floor = execution = round_trip = {};
    floor.time([&] { spawn_floor(shell); });
    execution.time([&] { exchange(socket, run, "\"sandboxName\""); });
    round_trip.time([&] { exchange(socket, "GET /health HTTP/1.1\r\nHost: sandbox\r\n\r\n", "\r\n\r\nok"); });
  }
  const double base = floor.quantile(0.5);
  std::printf("%s -c true, %d rounds, taking turns\n", shell, rounds);
  row("floor: spawn, two pipes, wait", floor, base);
  row("agent: POST /executions", execution, base);
  row("agent: GET /health", round_trip, base);
  row("agent: from its spawn to listening", start, base);
  struct stat binary {};
  ::stat(argv[1], &binary);
  std::printf("resident idle %ld KiB, after %d executions %ld KiB; binary %ld KiB\n", idle, rounds,
              agent.resident_kib(), static_cast<long>(binary.st_size >> 10));
  ::close(socket);
}
