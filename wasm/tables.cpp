/// Prints, as JSON, the tables that the core decides by: its calls, the fields of their bodies, its errors.
/// The API's document is held against them (tests/docs), so it is a program of its own and no part of
/// edge.wasm.

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/scope.h"
#include "wasm/routes.h"

namespace roombox::edge {
namespace {

std::string_view scope_name(Scope scope) {
  if (scope == Scope::None) return "none";
  return scope == Scope::All ? "all" : name_in(kScopeNames, scope);
}

void write_routes(JsonWriter& json) {
  json.begin_array();
  for (const Route& route : routes()) {
    json.begin_object().key("dialect").string(name(route.dialect)).key("method").string(route.method);
    json.key("pattern").string(route.pattern).key("scope").string(scope_name(route.scope));
    json.key("stream").boolean(route.reply == Route::Reply::Stream).end_object();
  }
  json.end_array();
}

void write_body(JsonWriter& json, std::string_view body, std::span<const BodyField> fields) {
  json.key(body).begin_array();
  for (const BodyField& field : fields) {
    json.begin_object().key("name").string(field.name);
    json.key("required").boolean(field.presence == Presence::Required).end_object();
  }
  json.end_array();
}

void write_bodies(JsonWriter& json) {
  json.begin_object();
  write_body(json, "exec", exec_fields(Dialect::Rooms));
  write_body(json, "v1Exec", exec_fields(Dialect::V1));
  write_body(json, "sdkExec", exec_fields(Dialect::Sdk));
  write_body(json, "v1Create", create_fields(Dialect::V1));
  write_body(json, "sdkCreate", create_fields(Dialect::Sdk));
  write_body(json, "kill", kill_fields());
  write_body(json, "port", port_fields());
  write_body(json, "terminal", terminal_fields());
  write_body(json, "wake", timeout_fields(Presence::Optional));
  write_body(json, "timeout", timeout_fields(Presence::Required));
  write_body(json, "token", token_fields());
  write_body(json, "control", attach::control_fields());
  json.end_object();
}

void write_errors(JsonWriter& json) {
  json.begin_object();
  for (const ErrorKind& kind : error_kinds()) json.key(kind.name).integer(kind.status);
  json.end_object();
}

std::string tables() {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_routes(json.key("routes"));
  write_bodies(json.key("bodies"));
  write_errors(json.key("errors"));
  json.end_object();
  return text;
}

}  // namespace
}  // namespace roombox::edge

int main() {
  std::puts(roombox::edge::tables().c_str());
}
