#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "container/sys/call.h"

namespace roombox::sys {

/// Owns one file descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }

  /// Gives up ownership.
  int release() { return std::exchange(number_, -1); }

  void reset(int number = -1) {
    // close(2) is not retried on EINTR: Linux has released the descriptor by then.
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

/// Gives a descriptor a number that is at least `least`.
inline Result<int, Failure> move_above(Fd& descriptor, int least) {
  auto moved = call("fcntl", [&] { return ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, least); });
  if (moved) descriptor.reset(*moved);
  return moved;
}

}  // namespace roombox::sys
