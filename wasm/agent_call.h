#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/error.h"
#include "wasm/routes.h"

/// What decisions have in common.
namespace roombox::edge {

/// The answer to a call that breaks a rule.
Decision refuse(const Call& call, const Error& error);

/// What comes before a body that must be JSON, and has no other header to be checked: a refusal, or that it
/// is to be read; none once it is there and may be parsed.
std::optional<Decision> before_json(const Call& call);

/// The same of one that may be absent.
std::optional<Decision> before_optional_json(const Call& call);

/// A request to the agent of the call's sandbox, by way of its object.
Forward forward(const Call& call, std::string_view method, std::string path);

}  // namespace roombox::edge
