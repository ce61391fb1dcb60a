#include "tests/agent/bench/child.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace roombox::bench {
namespace {

void drain(const Fd& out, const Fd& err) {
  pollfd pipes[] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
  static thread_local char bytes[64u << 10];
  for (int open = 2; open > 0;) {
    must("poll", ::poll(pipes, 2, -1));
    for (auto& pipe : pipes) {
      if (pipe.fd < 0 || pipe.revents == 0 || ::read(pipe.fd, bytes, sizeof bytes) > 0) continue;
      pipe.fd = -1;  // no longer looked at
      --open;
    }
  }
}

}  // namespace

void await_end(pid_t pid, Fd out, Fd err) {
  drain(out, err);
  out.reset();
  err.reset();
  int status;
  must("waitpid", ::waitpid(pid, &status, 0));
  if (status != 0) fail("a command failed that is measured without a server");
}

}  // namespace roombox::bench
