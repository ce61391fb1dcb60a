#include "wasm/agent_call.h"

#include <utility>

#include "wasm/answer.h"
#include "wasm/checks.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/limits.h"

namespace roombox::edge {

namespace {

/// As many as most calls on the agent have, or more.
constexpr std::size_t kUsualHeaders = 6;

}  // namespace

Decision refuse(const Call& call, const Error& error) {
  return error_answer(error, call.subject.dialect);
}

std::optional<Decision> before_json(const Call& call) {
  if (auto error = check_json_headers(call.request)) return refuse(call, *error);
  if (!call.request.body) return ReadBody{limits::kBody};
  if (auto error = check_body_size(call.request)) return refuse(call, *error);
  return std::nullopt;
}

std::optional<Decision> before_optional_json(const Call& call) {
  if (auto error = check_body_headers(call.request)) return refuse(call, *error);
  if (!call.request.body) return ReadBody{limits::kBody};
  if (auto error = check_optional_json(call.request)) return refuse(call, *error);
  return std::nullopt;
}

Forward forward(const Call& call, std::string_view method, std::string path) {
  Headers headers;
  headers.reserve(kUsualHeaders);  // a list in braces would be copied
  headers.emplace_back(agent_api::kSandboxHeader, call.subject.sandbox);
  headers.emplace_back(agent_api::kDialectHeader, name(call.subject.dialect));
  if (!call.subject.execution.empty()) {
    headers.emplace_back(agent_api::kExecutionHeader, call.subject.execution);
  }
  return {call.subject.sandbox, std::string(method), std::move(path), std::move(headers), {}};
}

}  // namespace roombox::edge
