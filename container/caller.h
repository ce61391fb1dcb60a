#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "container/http_server.h"
#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"

/// What all calls of the agent's interface have in common.
namespace roombox {

inline constexpr char kJson[] = "application/json";

/// Whose client is answered, and how.
struct Caller {
  Dialect dialect;
  std::string sandbox;
};
Caller caller_of(const HttpRequest& request);

Error error(ErrorCode code, std::string_view message);

/// The answer that an error is told with.
HttpResponse to_response(const Error& error, Dialect dialect);

/// Answers with an error, in the caller's dialect.
void refuse(Exchange& exchange, const Error& error);

/// A target without its query, and that.
std::pair<std::string_view, std::string_view> split_query(std::string_view target);

}  // namespace roombox
