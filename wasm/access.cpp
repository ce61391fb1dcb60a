#include "wasm/access.h"

#include <array>
#include <string>

#include "wasm/protocol/messages.h"
#include "wasm/protocol/named.h"
#include "wasm/protocol/text.h"
#include "wasm/router.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kOpen = "open";
constexpr std::string_view kKey = "key";
constexpr std::string_view kToken = "token ";
constexpr std::string_view kUnreadable = "unreadable ";

/// Why somebody is nobody, by the host's word for it.
constexpr Names<std::string_view, 4> kStrangers = {{
    {messages::kCredentialMissing, "missing"},
    {messages::kCredentialInvalid, "invalid"},
    {messages::kCredentialExpired, "expired"},
    {messages::kCredentialsUnconfigured, "unconfigured"},
}};

std::string_view name(Scope scope) {
  return name_in(kScopeNames, scope);
}

bool has_member(std::string_view list, char separator, std::string_view wanted) {
  while (!list.empty()) {
    if (take_until(list, separator) == wanted) return true;
  }
  return false;
}

/// A room's id, or the beginning of some rooms' followed by a star.
bool is_for(std::string_view pattern, std::string_view room) {
  if (!pattern.ends_with('*')) return pattern == room;
  pattern.remove_suffix(1);
  return room.starts_with(pattern);
}

Error forbidden(std::string_view field, std::string message) {
  return {ErrorCode::Forbidden,
          std::string(messages::kForbiddenCall),
          {{std::string(field), std::move(message)}}};
}

Error unauthorized(std::string_view message) {
  return {ErrorCode::Unauthorized,
          std::string(messages::kUnauthorized),
          {{"authorization", std::string(message)}}};
}

bool are_scopes(std::string_view list) {
  while (!list.empty()) {
    if (!value_in(kScopeNames, take_until(list, ','))) return false;
  }
  return true;
}

/// Of `token <scopes> <room>`.
std::optional<Error> check_token(std::string_view grant, Scope scope, std::string_view room) {
  const std::string_view scopes = take_until(grant, ' ');
  if (!are_scopes(scopes)) return unauthorized(messages::kTokenScopes);
  if (scope == Scope::All) return forbidden("token", std::string(messages::kTokenNotForAll));
  if (!is_for(grant, room)) return forbidden("room", std::string(messages::kTokenOtherRoom));
  if (has_member(scopes, ',', name(scope))) return std::nullopt;
  return forbidden("scope", messages::fill(messages::kTokenScope, {name(scope), scopes}));
}

/// Of who is nobody, by the host's word for it.
Error check_stranger(std::string_view word) {
  if (!word.starts_with(kUnreadable)) {
    return unauthorized(value_in(kStrangers, word).value_or(messages::kCredentialsUnconfigured));
  }
  word.remove_prefix(kUnreadable.size());
  return {ErrorCode::Internal, messages::fill(messages::kKeyUnreadable, {word})};
}

/// Pages that bind a name of theirs to this machine's address are of its origin then, but call it by that
/// name.
bool is_loopback(std::string_view host) {
  if (host.starts_with('[')) return host.starts_with("[::1]");
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host == "127.0.0.1" || host.ends_with(".localhost");
}

bool is_allowed(const Request& request) {
  const std::string_view origin = request.origin.value_or("");
  return origin == origin_of(request.url) || has_member(request.allowed_origins.value_or(""), ' ', origin);
}

bool changes_nothing(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

}  // namespace

std::optional<Error> check_access(const Request& request, Scope scope, std::string_view room) {
  const std::string_view caller = request.caller.value_or("unconfigured");
  if (scope == Scope::None || caller == kKey) return std::nullopt;
  if (caller == kOpen) {
    const std::string_view host = host_of(request.url);
    if (host.empty() || is_loopback(host)) return std::nullopt;
    return forbidden("host", messages::fill(messages::kOpenHost, {host}));
  }
  if (caller.starts_with(kToken)) return check_token(caller.substr(kToken.size()), scope, room);
  return check_stranger(caller);
}

std::string socket_scopes(const Request& request) {
  constexpr std::array kSocketScopes = {Scope::Attach, Scope::Ports, Scope::Read};
  std::string_view grant = request.caller.value_or("");
  const bool all = !grant.starts_with(kToken);
  if (!all) grant.remove_prefix(kToken.size());
  const std::string_view granted = take_until(grant, ' ');
  std::string scopes;
  for (const Scope scope : kSocketScopes) {
    if (!all && !has_member(granted, ',', name(scope))) continue;
    if (!scopes.empty()) scopes += ',';
    scopes += name(scope);
  }
  return scopes;
}

std::optional<Error> check_origin(const Request& request) {
  if (!request.origin || is_allowed(request)) return std::nullopt;
  if (changes_nothing(request.method) && !request.upgrade && !is_preflight(request)) return std::nullopt;
  return forbidden("origin", messages::fill(messages::kOrigin, {*request.origin}));
}

Headers cors_headers(const Request& request) {
  if (!request.origin || *request.origin == origin_of(request.url) || !is_allowed(request)) return {};
  return {{"Access-Control-Allow-Origin", std::string(*request.origin)},
          {"Access-Control-Expose-Headers", "*"},
          {"Vary", "Origin"}};
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && request.origin && request.preflight_method;
}

}  // namespace roombox::edge
