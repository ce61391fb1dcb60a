// Tries what a command might do to another process: trespass PID. Tells what was let through, a word a line.

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void tell(bool is_through, const std::string& what) {
  if (is_through) std::puts(what.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t pid = argc == 2 ? std::atoi(argv[1]) : 0;
  if (pid <= 0) return 2;
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  for (const char* file : {"environ", "mem", "maps", "smaps", "auxv", "syscall", "stack", "pagemap"}) {
    const int opened = ::open((proc + file).c_str(), O_RDONLY);
    char byte;
    // A few can be opened by all, and then tell nothing.
    tell(opened >= 0 && ::read(opened, &byte, 1) > 0, file);
  }
  for (const char* file : {"mem", "oom_score_adj", "comm", "clear_refs", "coredump_filter"})
    tell(::open((proc + file).c_str(), O_WRONLY) >= 0, std::string("write ") + file);
  for (const char* directory : {"fd", "fdinfo", "map_files", "root", "cwd", "ns"}) {
    const int opened = ::open((proc + directory).c_str(), O_RDONLY | O_DIRECTORY);
    char entries[1024];
    tell(opened >= 0 && ::syscall(SYS_getdents64, opened, entries, sizeof entries) > 0, directory);
  }
  for (const char* link : {"exe", "root", "cwd"}) {
    char target[256];
    tell(::readlink((proc + link).c_str(), target, sizeof target) >= 0, std::string("link ") + link);
  }

  rlimit none{0, 0};
  tell(::prlimit(pid, RLIMIT_NOFILE, nullptr, &none) == 0, "read a limit");
  tell(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr) == 0, "set a limit");
  char byte;
  const iovec here{&byte, 1}, there{argv, 1};
  tell(::process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0, "read memory");
  tell(::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19) == 0, "set the priority");
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  tell(::syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0, "take a descriptor");
  tell(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0, "trace");
  tell(::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0, "attach");
  for (const int number : {0, SIGSTOP, SIGTERM, SIGKILL}) {
    tell(::kill(pid, number) == 0, "kill -" + std::to_string(number));
    tell(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0, "signal by a pidfd");
    tell(::syscall(SYS_tgkill, pid, pid, number) == 0, "signal a thread");
  }
  std::puts("tried");
}
