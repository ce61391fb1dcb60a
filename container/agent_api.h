#pragma once

#include "container/engine.h"
#include "container/http_server.h"

namespace roombox {

/// The agent's HTTP interface over its engine: wasm/protocol/agent_api.h.
class AgentApi {
 public:
  /// @param token what callers must present as a bearer token; empty where nobody needs to. It keeps the
  /// sandbox's own
  ///              processes, which reach the port too, from starting commands outside the tree that they
  ///              belong to.
  AgentApi(Engine& engine, std::string token);

  void handle(std::shared_ptr<Exchange> exchange);

  /// The answer to a request that the server could not read.
  static HttpResponse refusal(unsigned status);

 private:
  void execute(std::shared_ptr<Exchange> exchange);
  bool is_authorized(std::string_view credentials) const;

  Engine& engine_;
  const std::string authorization_;
};

}  // namespace roombox
