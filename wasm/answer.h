#pragma once

#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"

namespace roombox::edge {

/// An answer of ours that no cache may keep.
Answer answer(int status, std::string_view content_type, std::string body);

/// The same of a JSON body.
Answer json_answer(int status, std::string body);

/// The answer that an error is told with.
Answer error_answer(const Error& error, Dialect dialect);
Answer error_answer(ErrorCode code, std::string_view message, Dialect dialect);

/// Adds headers after others.
void append(Headers& headers, Headers more);

}  // namespace roombox::edge
