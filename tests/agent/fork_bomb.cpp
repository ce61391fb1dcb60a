// A tree that refills every place that is freed: each process forks as often as it may. Says `ready` once a
// fork is refused. Ends by itself, so that a test that fails leaves no bomb: fork_bomb SECONDS.

#include <time.h>
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  bool is_first = true;
  for (const time_t end = ::time(nullptr) + std::atoi(argv[1]); ::time(nullptr) < end;) {
    const pid_t child = ::fork();
    if (child == 0) is_first = false;
    if (child < 0 && is_first) {
      is_first = false;
      if (::write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
    }
  }
}
