#pragma once

#include <sys/types.h>

#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox {

/// A FIFO that is in no directory: a pipe of which nothing but the name is open (O_PATH), and which is opened
/// anew, through /proc, by each that uses it. The name counts neither as reader nor as writer, so that a
/// reader meets the end when all who opened it for writing have closed it, and whoever opens it afterwards
/// finds it empty.
class NamelessFifo {
 public:
  /// @param owner who may open it, beside root
  static Result<NamelessFifo, sys::Failure> make(uid_t owner);

  /// An end of it, non-blocking, close-on-exec.
  Result<sys::Fd, sys::Failure> open_read_end() const;
  Result<sys::Fd, sys::Failure> open_write_end() const;

  /// Its name, for a process to open it by /proc/self/fd.
  const sys::Fd& name() const { return name_; }

 private:
  explicit NamelessFifo(sys::Fd name) : name_(std::move(name)) {}

  sys::Fd name_;
};

/// Whether nobody has the FIFO open for reading that this is a write end of.
bool is_unread(const sys::Fd& write_end);

}  // namespace roombox
