#include "container/caller.h"

#include <algorithm>

#include "wasm/protocol/agent_api.h"

namespace roombox {

Caller caller_of(const HttpRequest& request) {
  return {dialect_named(request.header(agent_api::kDialectHeader)).value_or(Dialect::Rooms),
          std::string(request.header(agent_api::kSandboxHeader))};
}

Error error(ErrorCode code, std::string_view message) {
  return {code, std::string(message)};
}

HttpResponse to_response(const Error& error, Dialect dialect) {
  return {static_cast<unsigned>(http_status(error.code)), kJson, render(error, dialect)};
}

void refuse(Exchange& exchange, const Error& error) {
  exchange.respond(to_response(error, caller_of(exchange.request()).dialect));
}

std::pair<std::string_view, std::string_view> split_query(std::string_view target) {
  const auto mark = std::min(target.find('?'), target.size());
  return {target.substr(0, mark), target.substr(std::min(mark + 1, target.size()))};
}

}  // namespace roombox
