#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/scope.h"

/// Who may do what. The host finds out whom a request is from (credentials are its matter, with their
/// cryptography); what that one may do is decided here.
namespace roombox::edge {

/// Whether the caller (Request::caller) may make a call of that scope about a room; empty where it is about
/// none. 401 for who is nobody, with what to do; 403 for who may do other things; 500 where the host cannot
/// tell, for a key that it cannot read.
std::optional<Error> check_access(const Request& request, Scope scope, std::string_view room);

/// The scopes that a caller who may attach can hand on to a page for opening WebSockets, with commas between
/// them.
std::string socket_scopes(const Request& request);

/// Whether the page that sends it may: a browser tells its origin, and sends what it likes to where it likes.
/// Origins that are not allowed may not open sockets nor change anything, credentials or not.
std::optional<Error> check_origin(const Request& request);

/// What tells a browser that its page may read the answer; none where it may not, or is no other origin's.
Headers cors_headers(const Request& request);

/// Whether it is a browser's question of what an origin may ask (a preflight, as the Fetch standard has it).
bool is_preflight(const Request& request);

}  // namespace roombox::edge
