#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "wasm/protocol/result.h"

namespace roombox::sys {

/// A system call that failed.
struct Failure {
  const char* call;  ///< Its name; a literal.
  int number;        ///< errno as it left it.

  /// As in `pipe2: Too many open files`.
  std::string text() const { return std::string(call) + ": " + std::generic_category().message(number); }
};

/// Makes a system call that answers -1 and sets errno when it fails; one that a signal interrupted is made
/// again.
template <typename Call>
auto call(const char* name, Call&& make) -> Result<decltype(make()), Failure> {
  for (;;) {
    auto value = make();
    if (value != -1) return value;
    if (errno != EINTR) return Failure{name, errno};
  }
}

}  // namespace roombox::sys
