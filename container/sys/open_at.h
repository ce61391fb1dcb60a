#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox::sys {

/// Opens a path that somebody else has named. Links of /proc that lead into processes (proc(5): fd, cwd,
/// root) are not followed: they open to the threads of a process what its files' permissions do not. A kernel
/// or a seccomp profile without openat2(2) lets them through.
inline Result<Fd, Failure> open_at(int directory, const char* path, int flags, mode_t mode = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  auto opened = call("openat2", [&] { return ::syscall(SYS_openat2, directory, path, &how, sizeof how); });
  if (opened) return Fd(static_cast<int>(*opened));
  if (opened.error().number != ENOSYS && opened.error().number != EPERM) return opened.error();
  auto plainly = call("openat", [&] { return ::openat(directory, path, flags | O_CLOEXEC, mode); });
  if (!plainly) return plainly.error();
  return Fd(*plainly);
}

}  // namespace roombox::sys
