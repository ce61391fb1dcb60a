#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wasm/protocol/error.h"

namespace roombox::edge {

/// The execution id that a segment of a path gives, percent-decoded once; none where it can be no
/// execution's: `exec_` and 1 to limits::kExecutionId characters of 0-9 a-z.
std::optional<std::string> parse_execution_id(std::string_view segment);

/// That a room has no execution of that id, which may be any text.
Error no_execution(std::string_view id);

}  // namespace roombox::edge
