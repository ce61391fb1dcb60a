#pragma once

#include <string>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"
#include "wasm/routes.h"

namespace roombox::edge {

/// The path of the file that a call is about, absolute and decoded, any bytes but NUL: what the pattern's
/// `{path}` stands for, without its leading slash; where the pattern has none, the query's `path`.
Result<std::string, Error> file_path(const Call& call);

}  // namespace roombox::edge
