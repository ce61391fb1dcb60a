// What it would save to start a shell before there is a command for it, by three ways, beside a shell that is
// started when its command comes. The agent does none of them: docs/benchmarks/README.md says why. Prints a
// table on stderr.
//
//   ahead_bench [rounds]

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/agent/bench/child.h"
#include "tests/agent/bench/support.h"

namespace roombox::bench {
namespace {

constexpr char kCommand[] = "true";
/// What a shell has in place of its command whose command is put there later.
constexpr std::size_t kRoom = 1024;

enum class Way {
  Cold,       ///< All is done when the command comes.
  Process,    ///< A process is there; it becomes the shell when the command comes.
  Eval,       ///< A shell is there; it reads the command and has `eval` run it.
  Arguments,  ///< A shell is there and reads $BASH_ENV, of bash alone; the command is written into its
              ///< memory.
};
constexpr std::array<const char*, 4> kNames = {"cold", "process ahead", "eval", "arguments rewritten"};

/// A FIFO by which whoever waits hears that its command has come. To open it for writing takes until it
/// waits.
class Fifo {
 public:
  Fifo() { must("mkfifo", ::mkfifo(path_.c_str(), 0600)); }
  ~Fifo() { ::unlink(path_.c_str()); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }
  Fd open() const { return Fd(must("open", ::open(path_.c_str(), O_WRONLY | O_CLOEXEC))); }

 private:
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("roombox-ahead-" + std::to_string(::getpid()));
};

std::vector<std::string> arguments(Way way, const std::string& shell, const Fifo& fifo) {
  if (way == Way::Eval) return {shell, "-c", "read -r command <" + fifo.path() + "; eval \"$command\""};
  return {shell, "-c", way == Way::Arguments ? std::string(kRoom, ' ') : kCommand};
}

std::vector<std::string> environment(Way way, const Fifo& fifo) {
  std::vector<std::string> all{"PATH=/usr/bin:/bin", kLanguage};
  if (way == Way::Arguments) all.push_back("BASH_ENV=" + fifo.path());
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

/// One shell, from its start to the end of its command.
class Shell {
 public:
  Shell(Way way, const std::string& path, const Fifo& fifo)
      : way_(way), arguments_(arguments(way, path, fifo)), environment_(environment(way, fifo)) {
    std::array<std::array<int, 2>, 2> pipes;
    for (auto& pipe : pipes) must("pipe2", ::pipe2(pipe.data(), O_CLOEXEC));
    auto argv = pointers(arguments_), envp = pointers(environment_);
    // Who waits in the child must not hold up its parent.
    pid_ = must("fork", way == Way::Process ? ::fork() : ::vfork());
    if (pid_ == 0) {
      ::dup2(pipes[0][1], STDOUT_FILENO);
      ::dup2(pipes[1][1], STDERR_FILENO);
      char byte;
      if (way == Way::Process && ::read(::open(fifo.path().c_str(), O_RDONLY | O_CLOEXEC), &byte, 1) != 1)
        ::_exit(127);
      ::execve(argv[0], argv.data(), envp.data());
      ::_exit(127);
    }
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      ::close(pipes[i][1]);
      streams_[i] = Fd(pipes[i][0]);
    }
    if (way != Way::Cold) fifo_ = fifo.open();
  }

  void run() {
    if (way_ == Way::Process) tell(".");
    if (way_ == Way::Eval) tell(std::string(kCommand) + "\n");
    if (way_ == Way::Arguments) {
      put_command();
      tell("unset BASH_ENV\n");
    }
    fifo_.reset();
    await_end(pid_, std::move(streams_[0]), std::move(streams_[1]));
  }

 private:
  void tell(const std::string& text) {
    if (must("write", ::write(fifo_.get(), text.data(), text.size())) != static_cast<ssize_t>(text.size()))
      fail("a shell was told in part");
  }

  /// Over the spaces: its arguments begin where /proc/pid/stat says (proc(5): arg_start is its 48th field).
  void put_command() {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string stat((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    constexpr int kFirst = 3, kArgStart = 48;
    std::string field;
    for (int number = kFirst; number <= kArgStart; ++number) fields >> field;
    const auto at = std::stoull(field) + arguments_[0].size() + 1 + arguments_[1].size() + 1;
    iovec from{const_cast<char*>(kCommand), sizeof kCommand};
    iovec to{reinterpret_cast<void*>(at), sizeof kCommand};
    must("process_vm_writev", ::process_vm_writev(pid_, &from, 1, &to, 1, 0));
  }

  const Way way_;
  std::vector<std::string> arguments_, environment_;
  pid_t pid_ = 0;
  std::array<Fd, 2> streams_;
  Fd fifo_;
};

/// From when the command is there to its end, in milliseconds.
double run_once(Way way, const std::string& shell, const Fifo& fifo) {
  std::optional<Shell> ahead;
  if (way != Way::Cold) ahead.emplace(way, shell, fifo);
  return 1000 * seconds_of([&] {
           if (way == Way::Cold) ahead.emplace(way, shell, fifo);
           ahead->run();
         });
}

void bench(const std::string& shell, int rounds) {
  const Fifo fifo;
  const bool is_bash = shell.ends_with("bash");
  const std::size_t ways = is_bash ? kNames.size() : kNames.size() - 1;
  std::array<Samples, kNames.size()> times;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t way = 0; way < ways; ++way) times[way].add(run_once(static_cast<Way>(way), shell, fifo));
  }
  for (std::size_t way = 0; way < ways; ++way) {
    std::fprintf(stderr, "%-10s %-20s %8.3f %8.3f %8.2f\n", shell.c_str(), kNames[way], times[way].median(),
                 times[way].quantile(0.9), times[way].median() / times[0].median());
  }
}

}  // namespace
}  // namespace roombox::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 500;
  try {
    std::fprintf(stderr, "%-10s %-20s %8s %8s %8s\n", "`true` by", "started", "p50, ms", "p90, ms", "/ cold");
    for (const char* shell : {"/bin/bash", "/bin/sh"}) {
      if (::access(shell, X_OK) == 0) roombox::bench::bench(shell, rounds);
    }
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "ahead_bench: %s\n", failure.what());
    return 1;
  }
}
