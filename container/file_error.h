#pragma once

#include <string_view>

#include "container/sys/call.h"
#include "wasm/protocol/error.h"

namespace roombox {

/// What a caller is told of a system call that failed on a path.
Error file_error(const sys::Failure& failure, std::string_view path);

}  // namespace roombox
