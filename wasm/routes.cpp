#include "wasm/routes.h"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wasm/agent_call.h"
#include "wasm/answer.h"
#include "wasm/checks.h"
#include "wasm/file_calls.h"
#include "wasm/port_calls.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/create_request.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/kill_request.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/percent.h"
#include "wasm/protocol/record.h"
#include "wasm/protocol/terminal.h"
#include "wasm/protocol/timeout_request.h"
#include "wasm/protocol/token_request.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kBytes = "application/octet-stream";

template <const std::string_view& file>
Decision page(const Call&) {
  return Page{file};
}

constexpr std::string_view kStartPage = "index.html";
constexpr std::string_view kRoomPage = "room.html";
constexpr std::string_view kDocsPage = "docs.html";

/// The record of an execution that a body asks for, as far as it is known before it runs.
std::string seed_of(const ExecRequest& request) {
  ExecutionView execution;
  execution.mode = request.mode;
  execution.command = request.cmd;
  execution.encoding = request.encoding;
  const std::string arguments = joined_arguments(request);
  execution.arguments = arguments;
  execution.shell = request.shell;
  std::string seed;
  append_seed(seed, execution);
  return seed;
}

Decision health(const Call&) {
  return answer(200, "text/plain", "ok");
}

/// Whether the caller is known to attach to what it starts; its body may tell as well.
enum class Attaches { Unknown, Next };

/// A command to run, where the dialect's body does not say what its caller waits for.
Decision exec_in_mode(const Call& call, Mode mode, Attaches attaches = Attaches::Unknown) {
  const Request& request = call.request;
  if (auto error = check_json_headers(request)) return refuse(call, *error);
  auto key = idempotency_key(request);
  if (!key) return refuse(call, key.error());
  if (!request.body) return ReadBody{limits::kBody};
  if (auto error = check_body_size(request)) return refuse(call, *error);
  auto parsed = parse_exec_request(*request.body, call.subject.dialect, mode);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  Forward out = forward(call, "POST", std::string(agent_api::kExecutions));
  out.headers.emplace_back("Content-Type", kJson);
  if (mode != Mode::Plain) out.headers.emplace_back(agent_api::kModeHeader, name(mode));
  if (*key) out.headers.emplace_back(agent_api::kIdempotencyHeader, **std::move(key));
  // Who says how long the command may go on without clients is one: nothing is to be lost before it comes.
  if (attaches == Attaches::Next || parsed->max_run_after_disconnect)
    out.headers.emplace_back(agent_api::kNextHeader, agent_api::kAttachesNext);
  out.seed = seed_of(*parsed);
  return out;
}

Decision exec(const Call& call) {
  return exec_in_mode(call, Mode::Plain);
}

Decision start(const Call& call) {
  return exec_in_mode(call, Mode::Detach);
}

/// The SDK's client attaches to what it has started.
Decision open_session(const Call& call) {
  return exec_in_mode(call, Mode::Detach, Attaches::Next);
}

Decision open_terminal(const Call& call) {
  if (auto first = before_json(call)) return *std::move(first);
  auto size = parse_terminal_size(*call.request.body);
  if (!size) return refuse(call, invalid_request(std::move(size.error())));
  Forward out = forward(call, "POST", std::string(agent_api::kTerminals));
  out.headers.emplace_back("Content-Type", kJson);
  ExecRequest terminal;
  terminal.cmd = agent_api::kTerminalCommand;
  terminal.mode = Mode::Detach;
  out.seed = seed_of(terminal);
  return out;
}

Decision events(const Call& call) {
  auto id = last_event_id(call.request);
  if (!id) return refuse(call, id.error());
  Forward out = forward(call, "GET", agent_api::execution_path(call.subject.execution, agent_api::kEvents));
  if (*id) out.headers.emplace_back(agent_api::kLastEventIdHeader, **std::move(id));
  return out;
}

/// What a call that is a WebSocket's answers any other.
std::optional<Decision> before_socket(const Call& call) {
  const auto error = check_upgrade(call.request);
  if (!error) return std::nullopt;
  Answer refusal = error_answer(*error, call.subject.dialect);
  refusal.headers.emplace_back("Upgrade", "websocket");
  return refusal;
}

Decision attach_to(const Call& call, std::string_view verb) {
  if (auto first = before_socket(call)) return *std::move(first);
  auto after = after_sequence(call.request);
  if (!after) return refuse(call, after.error());
  Forward out = forward(call, "GET", agent_api::execution_path(call.subject.execution, verb));
  out.headers.emplace_back("Upgrade", "websocket");
  if (*after) out.headers.emplace_back(agent_api::kLastEventIdHeader, **std::move(after));
  return out;
}

Decision attach(const Call& call) {
  return attach_to(call, agent_api::kAttach);
}

Decision attach_terminal(const Call& call) {
  return attach_to(call, agent_api::kTerminal);
}

Decision end_terminal(const Call& call) {
  return forward(call, "POST", agent_api::execution_path(call.subject.execution, agent_api::kKill));
}

Decision sessions(const Call& call) {
  return Ask{"sessions", call.subject.sandbox, {}, {}};
}

Decision resize(const Call& call) {
  if (auto first = before_json(call)) return *std::move(first);
  auto parsed = parse_terminal_size(*call.request.body);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  Forward out = forward(call, "POST", agent_api::execution_path(call.subject.execution, agent_api::kResize));
  out.headers.emplace_back("Content-Type", kJson);
  return out;
}

Decision stdin_bytes(const Call& call) {
  if (auto error = check_body_headers(call.request)) return refuse(call, *error);
  const auto eof = wants_eof(call.request);
  if (!eof) return refuse(call, eof.error());
  if (!call.request.body) return ReadBody{limits::kBody};
  if (auto error = check_body_size(call.request)) return refuse(call, *error);
  std::string path = agent_api::execution_path(call.subject.execution, agent_api::kStdin);
  if (*eof) path.append("?").append(agent_api::kEof);
  Forward out = forward(call, "POST", std::move(path));
  out.headers.emplace_back("Content-Type", kBytes);
  return out;
}

Decision kill(const Call& call) {
  if (auto first = before_optional_json(call)) return *std::move(first);
  auto parsed = parse_kill_request(*call.request.body);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  Forward out = forward(call, "POST", agent_api::execution_path(call.subject.execution, agent_api::kKill));
  out.headers.emplace_back("Content-Type", kJson);
  return out;
}

Decision rooms(const Call& call) {
  auto page = page_arguments(call.request, Cursor::Room, StatusFilter::None);
  if (!page) return refuse(call, page.error());
  return Ask{"rooms", {}, *std::move(page), {}};
}

/// The argument of an Ask that says when a sandbox is to sleep by itself, if that was said.
Headers sleep_argument(std::optional<std::chrono::milliseconds> after) {
  if (!after) return {};
  return {{"sleep_after_ms", std::to_string(after->count())}};
}

Decision create(const Call& call) {
  if (auto first = before_optional_json(call)) return *std::move(first);
  auto parsed = parse_create_request(*call.request.body, call.subject.dialect);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  std::string env;
  FieldWriter fields(env);
  for (const EnvVar& variable : parsed->env) fields.text("env", variable.name + "=" + variable.value);
  Headers arguments = sleep_argument(parsed->sleep_after);
  arguments.emplace_back("prefix", "sbx_");
  return Ask{"create", {}, std::move(arguments), std::move(env)};
}

Decision status(const Call& call) {
  return Ask{"status", call.subject.sandbox, {}, {}};
}

Decision token(const Call& call) {
  if (auto first = before_json(call)) return *std::move(first);
  auto parsed = parse_token_request(*call.request.body);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  return Ask{
      "token",
      call.subject.sandbox,
      {{"scopes", std::move(parsed->scopes)}, {"lifetime_ms", std::to_string(parsed->lifetime.count())}},
      {}};
}

Decision ticket(const Call& call) {
  return Ask{"ticket", call.subject.sandbox, {{"scopes", socket_scopes(call.request)}}, {}};
}

/// The object has that WebSocket itself, so its path is no call of the agent.
Decision presence(const Call& call) {
  if (auto first = before_socket(call)) return *std::move(first);
  const auto name = presence_name(call.request);
  if (!name) return refuse(call, name.error());
  std::string path = "/presence?name=" + percent_encoded(*name);
  path.append("&most=").append(std::to_string(limits::kPresent));
  path.append("&state=").append(std::to_string(limits::kPresenceState));
  Forward out = forward(call, "GET", std::move(path));
  out.headers.emplace_back("Upgrade", "websocket");
  return out;
}

Decision destroy(const Call& call) {
  return Ask{"destroy", call.subject.sandbox, {}, {}};
}

Decision sleep(const Call& call) {
  return Ask{"sleep", call.subject.sandbox, {}, {}};
}

/// A question with the timeout that the body has.
Decision ask_with_timeout(const Call& call, std::string_view operation, Presence timeout) {
  auto parsed = parse_timeout_request(*call.request.body, timeout);
  if (!parsed) return refuse(call, invalid_request(std::move(parsed.error())));
  return Ask{std::string(operation), call.subject.sandbox, sleep_argument(*parsed), {}};
}

Decision wake(const Call& call) {
  if (auto first = before_optional_json(call)) return *std::move(first);
  return ask_with_timeout(call, "wake", Presence::Optional);
}

Decision set_timeout(const Call& call) {
  if (auto first = before_json(call)) return *std::move(first);
  return ask_with_timeout(call, "timeout", Presence::Required);
}

Decision records(const Call& call) {
  auto page = page_arguments(call.request, Cursor::Sequence, StatusFilter::Allowed);
  if (!page) return refuse(call, page.error());
  return Ask{"records", call.subject.sandbox, *std::move(page), {}};
}

Decision record(const Call& call) {
  return Ask{"record", call.subject.sandbox, {{"id", call.subject.execution}}, {}};
}

Decision metrics(const Call& call) {
  return Ask{"metrics", call.subject.sandbox, {}, {}};
}

constexpr auto kRooms = Dialect::Rooms;
constexpr auto kV1 = Dialect::V1;
constexpr auto kSdk = Dialect::Sdk;

constexpr std::array<Route, 57> kRoutes = {{
    {kRooms, Scope::None, "GET", "/", page<kStartPage>},
    {kRooms, Scope::None, "GET", "/rooms/{roomID}", page<kRoomPage>},
    {kRooms, Scope::None, "GET", "/docs", page<kDocsPage>},
    {kRooms, Scope::None, "GET", "/health", health},
    {kRooms, Scope::Exec, "POST", "/api/rooms/{roomID}/sandbox/exec", exec},
    {kRooms, Scope::All, "GET", "/api/rooms", rooms},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}", status},
    {kRooms, Scope::Delete, "DELETE", "/api/rooms/{roomID}", destroy},
    {kRooms, Scope::Exec, "POST", "/api/rooms/{roomID}/sleep", sleep},
    {kRooms, Scope::All, "POST", "/api/rooms/{roomID}/tokens", token},
    {kRooms, Scope::Attach, "POST", "/api/rooms/{roomID}/tickets", ticket},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}/presence", presence, Route::Reply::Stream},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}/sandbox/executions", records},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}/sandbox/executions/{executionID}", record},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}/sandbox/executions/{executionID}/events", events,
     Route::Reply::Stream},
    {kRooms, Scope::Attach, "GET", "/api/rooms/{roomID}/sandbox/executions/{executionID}/attach", attach,
     Route::Reply::Stream},
    {kRooms, Scope::Exec, "POST", "/api/rooms/{roomID}/sandbox/executions/{executionID}/stdin", stdin_bytes},
    {kRooms, Scope::Exec, "POST", "/api/rooms/{roomID}/sandbox/executions/{executionID}/resize", resize},
    {kRooms, Scope::Exec, "POST", "/api/rooms/{roomID}/sandbox/executions/{executionID}/kill", kill},
    {kRooms, Scope::Read, "GET", "/api/rooms/{roomID}/sandbox/metrics", metrics},
    {kRooms, Scope::Files, "GET", "/api/rooms/{roomID}/sandbox/files/{path}", get_path},
    {kRooms, Scope::Files, "PUT", "/api/rooms/{roomID}/sandbox/files/{path}", put_file},
    {kRooms, Scope::Files, "DELETE", "/api/rooms/{roomID}/sandbox/files/{path}", delete_file},
    {kRooms, Scope::Ports, kAnyMethod, "/api/rooms/{roomID}/sandbox/ports/{port}", relay},
    {kRooms, Scope::Ports, kAnyMethod, "/api/rooms/{roomID}/sandbox/ports/{port}/{path}", relay},
    {kV1, Scope::Exec, "POST", "/v1/sandboxes/{id}/exec", exec},
    {kV1, Scope::All, "GET", "/v1/sandboxes", rooms},
    {kV1, Scope::All, "POST", "/v1/sandboxes", create},
    {kV1, Scope::Read, "GET", "/v1/sandboxes/{id}", status},
    {kV1, Scope::Delete, "DELETE", "/v1/sandboxes/{id}", destroy},
    {kV1, Scope::Ports, "POST", "/v1/sandboxes/{id}/ports", port_url},
    {kV1, Scope::Files, "GET", "/v1/sandboxes/{id}/files", get_file},
    {kV1, Scope::Files, "PUT", "/v1/sandboxes/{id}/files", put_file},
    {kV1, Scope::Files, "DELETE", "/v1/sandboxes/{id}/files", delete_file},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/exec", open_session},
    {kSdk, Scope::All, "GET", "/api/sandboxes", rooms},
    {kSdk, Scope::All, "POST", "/api/sandboxes", create},
    {kSdk, Scope::Read, "GET", "/api/sandboxes/{id}", status},
    {kSdk, Scope::Delete, "DELETE", "/api/sandboxes/{id}", destroy},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/hibernate", sleep},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/wake", wake},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/timeout", set_timeout},
    {kSdk, Scope::Read, "GET", "/api/sandboxes/{id}/exec", sessions},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/exec/run", exec},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/exec/run-async", start},
    {kSdk, Scope::Attach, "GET", "/api/sandboxes/{id}/exec/{executionID}", attach, Route::Reply::Stream},
    {kSdk, Scope::Read, "GET", "/api/sandboxes/{id}/exec/{executionID}/result", record},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/exec/{executionID}/kill", kill},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/pty", open_terminal},
    {kSdk, Scope::Attach, "GET", "/api/sandboxes/{id}/pty/{executionID}", attach_terminal,
     Route::Reply::Stream},
    {kSdk, Scope::Exec, "POST", "/api/sandboxes/{id}/pty/{executionID}/resize", resize},
    {kSdk, Scope::Exec, "DELETE", "/api/sandboxes/{id}/pty/{executionID}", end_terminal},
    {kSdk, Scope::Files, "GET", "/api/sandboxes/{id}/files", get_file},
    {kSdk, Scope::Files, "PUT", "/api/sandboxes/{id}/files", put_file},
    {kSdk, Scope::Files, "DELETE", "/api/sandboxes/{id}/files", delete_file},
    {kSdk, Scope::Files, "GET", "/api/sandboxes/{id}/files/list", list_directory},
    {kSdk, Scope::Files, "POST", "/api/sandboxes/{id}/files/mkdir", make_directory},
}};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace roombox::edge
