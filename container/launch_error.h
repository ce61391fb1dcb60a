#pragma once

#include <string>

#include "container/spawn.h"
#include "wasm/protocol/error.h"

namespace roombox {

/// What a caller is told of a command whose shell could not be started.
Error launch_error(const LaunchFailure& failure, const std::string& directory, const std::string& shell);

}  // namespace roombox
