#pragma once

#include <cstdint>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

namespace roombox {

/// A terminal's size in characters, each from 1 to limits::kTerminalCells.
struct TerminalSize {
  std::uint16_t cols = 80;
  std::uint16_t rows = 24;
};

/// Reads and validates the body of a resize call: `{"cols":…,"rows":…}`, both required. Errors as
/// parse_exec_request's.
Result<TerminalSize, FieldErrors> parse_terminal_size(std::string_view body);

}  // namespace roombox
