#pragma once

#include <string>

#include "tests/agent/bench/support.h"

/// What the kernel itself charges, without a server.
namespace roombox::bench::floor {

/// /bin/bash, or /bin/sh where there is none: what the agent takes.
std::string shell();

/// Runs `true` by the shell that many times, in that many threads: a posix_spawn(3), which has a vfork
/// inside, two pipes read to their end, a wait.
void run(int count, int threads);

enum class Socket { Tcp, Unix };

/// A `cat` of the file, whose stdout is one end of a connected pair of stream sockets.
class Cat {
 public:
  Cat(const std::string& file, Socket kind);
  ~Cat();
  Cat(const Cat&) = delete;
  Cat& operator=(const Cat&) = delete;

  /// The other end.
  int output() const { return output_.get(); }

 private:
  pid_t pid_ = 0;
  Fd output_;
};

}  // namespace roombox::bench::floor
