#pragma once

#include "wasm/edge.h"
#include "wasm/routes.h"

/// The decisions on calls about servers in a sandbox, for the table of routes.
namespace roombox::edge {

/// A request to the server on a port, by any method: what follows the port goes to it as it came, and so do
/// headers, body and reply, whatever they are.
Decision relay(const Call& call);

/// Where the server on a port is reached. Starts nothing, and does not look whether there is one.
Decision port_url(const Call& call);

}  // namespace roombox::edge
