// A tree that is never there when one looks: each process forks the next and exits. Counts them in a file, so
// that a test can tell whether it goes on: fork_chain FILE. Ends by itself after a minute.

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int file = ::open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ::ftruncate(file, sizeof(unsigned)) != 0) return 1;
  void* memory = ::mmap(nullptr, sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 1;
  auto& count = *static_cast<volatile unsigned*>(memory);
  for (const time_t end = ::time(nullptr) + 60; ::time(nullptr) < end;) {
    if (::fork() != 0) ::_exit(0);
    count = count + 1;
  }
}
