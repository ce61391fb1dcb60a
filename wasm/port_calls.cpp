#include "wasm/port_calls.h"

#include <string>
#include <string_view>
#include <utility>

#include "wasm/agent_call.h"
#include "wasm/answer.h"
#include "wasm/checks.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/port.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/router.h"

namespace roombox::edge {
namespace {

/// What of the caller's URL the server does not see, so that it can write links that lead back to it.
void append_forwarded(Headers& headers, const Call& call) {
  if (const std::string_view scheme = scheme_of(call.request.url); !scheme.empty()) {
    headers.emplace_back("X-Forwarded-Proto", scheme);
    headers.emplace_back("X-Forwarded-Host", host_of(call.request.url));
  }
  std::string_view prefix = path_of(call.request.url);
  if (call.rest) prefix.remove_suffix(call.rest->size() + 1);
  headers.emplace_back("X-Forwarded-Prefix", prefix);
}

}  // namespace

Decision relay(const Call& call) {
  const auto port = parse_port(call.port);
  if (!port || *port == agent_api::kOwnPort) return refuse(call, no_port());
  if (auto error = check_request_line(call.request)) return refuse(call, *error);
  if (auto error = check_relayed_size(call.request)) return refuse(call, *error);
  auto wait = wait_ms(call.request);
  if (!wait) return refuse(call, wait.error());
  std::string path(agent_api::kPorts);
  path.append(call.port).append("/").append(call.rest.value_or(std::string_view()));
  path.append(query_without(call.request.url, kWaitParameter));
  Forward out = forward(call, call.request.method, std::move(path));
  if (*wait) out.headers.emplace_back(agent_api::kWaitHeader, **std::move(wait));
  append_forwarded(out.headers, call);
  out.base = Forward::Base::Callers;
  return out;
}

Decision port_url(const Call& call) {
  if (auto first = before_json(call)) return *std::move(first);
  const auto port = parse_port_request(*call.request.body);
  if (!port) return refuse(call, invalid_request(port.error()));
  std::string url(origin_of(call.request.url));
  url.append("/api/rooms/").append(room_of(call.subject.sandbox)).append("/sandbox/ports/");
  url.append(std::to_string(*port)).append("/");
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("object").string("port").key("port").integer(*port).key("url").string(url);
  json.end_object();
  return json_answer(200, std::move(body));
}

}  // namespace roombox::edge
