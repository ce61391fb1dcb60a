#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/sys/fd.h"

namespace roombox {

/// How often the kernel has killed in this container for want of memory: a count that only grows. From the
/// memory cgroup of the commands' subtree, or of the container (v2 memory.events, v1 memory.oom_control), or,
/// in a virtual machine that has none, from /proc/vmstat.
///
/// One for all executions: the cgroups that they have of their own, where they have any, come and go, and
/// this is one open file throughout.
class OomCounter {
 public:
  /// @param cgroup directory of the subtree of cgroups that commands run in; empty for none
  explicit OomCounter(const std::string& cgroup);

  /// The count so far; 0 where the kernel tells none. One read of an open file.
  std::uint64_t count() const;

 private:
  bool open(const std::string& path);

  sys::Fd file_;
};

/// The value of the line `oom_kill <value>` in the kernel's text, if there is one.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);

}  // namespace roombox
