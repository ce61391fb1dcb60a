#include "container/agent_api.h"

#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/execution.h"

namespace roombox {
namespace {

constexpr char kJson[] = "application/json";

HttpResponse to_response(const Error& error, Dialect dialect) {
  return {static_cast<unsigned>(http_status(error.code)), kJson, render(error, dialect)};
}

/// Takes the time that the longer text takes, whatever it is compared with.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

}  // namespace

AgentApi::AgentApi(Engine& engine, std::string token)
    : engine_(engine), authorization_(token.empty() ? "" : "Bearer " + token) {}

void AgentApi::handle(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& request = exchange->request();
  if (request.target == agent_api::kHealth) return exchange->respond({200, "text/plain", "ok"});
  if (request.target == agent_api::kVersion) {
    return exchange->respond(
        {200, kJson, R"({"version":")" ROOMBOX_VERSION R"(","bootId":")" + engine_.boot_id() + "\"}"});
  }
  if (!is_authorized(request.header("Authorization"))) {
    return exchange->respond(to_response({ErrorCode::Unauthorized, "unauthorized"}, Dialect::Rooms));
  }
  if (request.target == agent_api::kExecutions && request.method == "POST")
    return execute(std::move(exchange));
  exchange->respond(
      to_response({ErrorCode::NotFound, "not found - the agent has no such call"}, Dialect::Rooms));
}

void AgentApi::execute(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& request = exchange->request();
  const Dialect dialect = dialect_named(request.header(agent_api::kDialectHeader)).value_or(Dialect::Rooms);
  auto parsed = parse_exec_request(request.body, dialect);
  if (!parsed) return exchange->respond(to_response(invalid_request(std::move(parsed.error())), dialect));

  std::string sandbox(request.header(agent_api::kSandboxHeader));
  const std::weak_ptr<Execution> execution = engine_.start(
      std::move(*parsed), [exchange, dialect, sandbox = std::move(sandbox)](const Execution& ended) {
        if (ended.error()) return exchange->respond(to_response(*ended.error(), dialect));
        exchange->respond({200, kJson, render(ended.view(), sandbox, dialect)});
      });
  exchange->on_abandoned([execution] {
    if (const auto running = execution.lock()) running->cancel();
  });
}

HttpResponse AgentApi::refusal(unsigned status) {
  switch (status) {
    case 413:
      return to_response({ErrorCode::PayloadTooLarge, "payload too large"}, Dialect::Rooms);
    default: {
      auto response = to_response({ErrorCode::InvalidRequest, "invalid request"}, Dialect::Rooms);
      response.status = status;
      return response;
    }
  }
}

bool AgentApi::is_authorized(std::string_view credentials) const {
  return authorization_.empty() || equal_in_constant_time(credentials, authorization_);
}

}  // namespace roombox
