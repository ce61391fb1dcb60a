#pragma once

#include <string>
#include <thread>

#include "tests/agent/bench/contenders.h"
#include "tests/agent/bench/support.h"

/// What the kernel itself charges, without a server.
namespace roombox::bench::floor {

/// Runs a command by the shell that many times, in that many threads: a posix_spawn(3), which has a vfork
/// inside, two pipes read to their end, a wait.
void run(Shell shell, const std::string& cmd, int count = 1, int threads = 1);

/// Two ends of something; what is written to the one is read from the other.
struct Ends {
  Fd reading, writing;
};

/// A TCP connection.
Ends open_tcp();

/// A terminal, which is written to as a command does and read as its server does. It echoes.
Ends open_terminal();

/// A terminal behind a connection: a process that passes on what is typed and its echo back, and does nothing
/// else, in the fewest calls; its terminal has somebody who reads the keys, as a command does.
class Relay {
 public:
  Relay();
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// The client's end: each byte that is sent comes back.
  int connection() const { return connection_.get(); }

 private:
  Fd connection_;
  pid_t relay_, command_;
};

/// The least that a server of commands does: a thread that reads a request from a TCP connection, runs the
/// command as above, and answers. No HTTP, no JSON; the output goes nowhere.
class Server {
 public:
  Server(Shell shell, const std::string& cmd);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Has that many requests answered, one after the other.
  void run(int count);

 private:
  Ends connection_;
  std::thread thread_;
};

/// A `cat` of a file.
class Cat {
 public:
  /// @param ends as those of open_tcp or open_terminal: its stdout is the writing one
  Cat(const std::string& file, Ends ends);
  ~Cat();
  Cat(const Cat&) = delete;
  Cat& operator=(const Cat&) = delete;

  /// The reading end.
  int output() const { return output_.get(); }

 private:
  pid_t pid_ = 0;
  Fd output_;
};

}  // namespace roombox::bench::floor
