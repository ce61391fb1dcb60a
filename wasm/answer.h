#pragma once

#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/error.h"

namespace roombox::edge {

/// An answer of ours that no cache may keep.
Answer answer(int status, std::string_view content_type, std::string body);

/// The answer that an error is told with.
Answer error_answer(const Error& error);
Answer error_answer(ErrorCode code, std::string_view message);

}  // namespace roombox::edge
