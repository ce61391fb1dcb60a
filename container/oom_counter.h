#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "container/sys/fd.h"

namespace roombox {

/// How often the kernel has killed in this container for want of memory: a count that only grows. From the
/// container's memory cgroup (v2 memory.events, v1 memory.oom_control), or, in a virtual machine that has
/// none, from /proc/vmstat.
class OomCounter {
 public:
  OomCounter();

  /// The count so far; 0 where the kernel tells none. One read of an open file.
  std::uint64_t count() const;

 private:
  sys::Fd file_;
};

/// The value of the line `oom_kill <value>` in the kernel's text, if there is one.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);

}  // namespace roombox
