#pragma once

#include <string>

#include "wasm/protocol/error.h"

namespace roombox {

/// The faults of a body as `field: message` lines.
inline std::string lines_of(const FieldErrors& errors) {
  std::string lines;
  for (const FieldError& error : errors) lines += error.field + ": " + error.message + "\n";
  return lines;
}

}  // namespace roombox
