#pragma once

#include <sys/types.h>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// Of the environment of whatever runs a shell: the agent gives its commands one in any case, and bash reads
/// a dozen files for it.
inline constexpr char kLanguage[] = "LANG=C.UTF-8";

/// Reads what a child writes to its end, then waits for the child, which must succeed.
void await_end(pid_t pid, Fd out, Fd err);

}  // namespace roombox::bench
