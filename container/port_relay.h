#pragma once

#include <memory>

#include "container/http_server.h"

namespace roombox {

/// Whether a request is for a server in the sandbox: wasm/protocol/agent_api.h, kPorts.
bool is_port_call(const HttpRequest& request);

/// Relays it there, and the server's answer back, until one of the two closes; the other is closed then. Each
/// is read only as fast as the other takes it. Lives in the io_context's thread.
///
/// Precondition: is_port_call, and the exchange is one to be handed over.
void relay_to_port(std::shared_ptr<Exchange> exchange);

}  // namespace roombox
