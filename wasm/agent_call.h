#pragma once

#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/error.h"
#include "wasm/routes.h"

/// What the decisions on calls for an agent have in common.
namespace roombox::edge {

/// The answer to a call that breaks a rule.
Decision refuse(const Call& call, const Error& error);

/// A request to the agent of the call's sandbox, by way of its object.
Forward forward(const Call& call, std::string_view method, std::string path);

}  // namespace roombox::edge
