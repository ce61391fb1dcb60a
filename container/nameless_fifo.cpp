#include "container/nameless_fifo.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <string>

namespace roombox {
namespace {

Result<sys::Fd, sys::Failure> reopen(const sys::Fd& descriptor, int flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor.get());
  auto opened = sys::call("open", [&] { return ::open(path.c_str(), flags | O_CLOEXEC); });
  if (!opened) return opened.error();
  return sys::Fd(*opened);
}

}  // namespace

Result<NamelessFifo, sys::Failure> NamelessFifo::make(uid_t owner) {
  int ends[2];
  auto made = sys::call("pipe2", [&] { return ::pipe2(ends, O_CLOEXEC); });
  if (!made) return made.error();
  const sys::Fd read_end(ends[0]), write_end(ends[1]);
  auto given = sys::call("fchown", [&] { return ::fchown(ends[0], owner, static_cast<gid_t>(-1)); });
  if (!given) return given.error();
  auto name = reopen(read_end, O_PATH);
  if (!name) return name.error();
  return NamelessFifo(std::move(*name));
}

Result<sys::Fd, sys::Failure> NamelessFifo::open_read_end() const {
  return reopen(name_, O_RDONLY | O_NONBLOCK);
}

Result<sys::Fd, sys::Failure> NamelessFifo::open_write_end() const {
  // Where nobody reads, a FIFO in a directory would refuse this; a pipe does not.
  return reopen(name_, O_WRONLY | O_NONBLOCK);
}

bool is_unread(const sys::Fd& write_end) {
  pollfd poll{write_end.get(), 0, 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLERR) != 0;
}

}  // namespace roombox
