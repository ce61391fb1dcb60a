#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// A cgroup (v2) of its own for this process and what it starts, so that those of the agent can be counted;
/// none where the hierarchy cannot be written to. Removed at its end, by then its processes must be gone.
class OwnCgroup {
 public:
  OwnCgroup();
  ~OwnCgroup();
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  /// The cgroups below it, by their directories.
  std::vector<std::string> below() const;

 private:
  void enter(const std::string& directory) const;

  std::string parent_, path_;  ///< Empty where there is none.
};

/// What may accumulate in an agent and around it.
struct Census {
  long resident_kib, peak_kib, descriptors, threads, zombies, strays, cgroups;
};

/// Counts. Zombies and strays are sought among all processes that this one sees: to count none but the
/// agent's, be in a PID namespace of your own.
/// @param user whose processes are strays, once no execution runs
Census take_census(pid_t agent, uid_t user, const OwnCgroup& cgroup);

}  // namespace roombox::bench
