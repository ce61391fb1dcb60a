#include "tests/agent/bench/contenders.h"

#include <nlohmann/json.hpp>

#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/server_process.h"

namespace roombox::bench {
namespace {

using nlohmann::json;
using Command = std::vector<std::string>;

constexpr int kTimeoutMs = 600'000;
const std::string kBench = ROOMBOX_BENCH_DIRECTORY;

/// As somebody unprivileged, as whom the agent runs commands where there is no user for them; it ends with
/// us.
Command unprivileged(Command command) {
  command.insert(command.begin(),
                 {"setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--pdeathsig=KILL"});
  return command;
}

json answer_to(std::uint16_t port, const std::string& request) {
  const auto response = Connection(port).exchange(request);
  auto body = json::parse(response.body, nullptr, false);
  if (response.status / 100 != 2 || !body.is_object()) fail("not started: " + response.head + response.body);
  return body;
}

std::string percent_encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char c : text) encoded += {'%', kDigits[c >> 4], kDigits[c & 15]};
  return encoded;
}

Contender ours() {
  Contender it;
  it.name = "ours";
  it.installed_by = "name the path of roombox-agent";
  it.program = [](const Programs& programs) -> const std::string& { return programs.agent; };
  it.command = [](const Programs& programs, Shell shell, std::uint16_t port) {
    auto command = agent_command(programs.agent, "sandbox", port);
    command.push_back("--shell=" + path_of(shell));
    command.insert(command.begin(), {"setpriv", "--pdeathsig=KILL"});  // others start through it too
    return command;
  };
  it.request = [](Shell, const std::string& cmd) { return post("/executions", json{{"cmd", cmd}}.dump()); };
  it.exit_0 = "\"exitCode\":0";
  it.stream = [](Shell, const std::string& cmd) {
    const json body{{"cmd", cmd}, {"stream", true}, {"timeout_ms", kTimeoutMs}};
    return post("/executions", body.dump(), "Connection: close\r\n");
  };
  it.record = [](Shell, int number) {
    const auto digits = std::to_string(number);
    const auto id = "exec_" + std::string(20 - digits.size(), '0') + digits;
    return post("/executions", R"({"cmd":"true"})", "Roombox-Execution: " + id + "\r\n");
  };
  it.terminal = TerminalDialect{[](std::uint16_t port, Shell, const std::string& cmd) {
                                  const json body{{"cmd", cmd}, {"pty", json::object()}};
                                  return "/executions/" + start_execution(port, body.dump()) + "/attach";
                                },
                                "Roombox-Sandbox: sandbox-r1\r\nRoombox-Dialect: rooms\r\n",
                                "",
                                TerminalDialect::Input::Binary,
                                [](std::string_view keys) { return '\0' + std::string(keys); },
                                "\1"};
  return it;
}

/// @param server beside this file, a program for the one that `program` finds
Contender script_server(const char* name, const char* installed_by, std::string Programs::*program,
                        const std::string& server) {
  Contender it;
  it.name = name;
  it.installed_by = installed_by;
  it.program = [program](const Programs& programs) -> const std::string& { return programs.*program; };
  it.command = [program, server](const Programs& programs, Shell shell, std::uint16_t port) {
    return unprivileged({programs.*program, kBench + server, path_of(shell), std::to_string(port)});
  };
  it.request = [](Shell, const std::string& cmd) { return post("/", json{{"cmd", cmd}}.dump()); };
  it.exit_0 = "\"exitCode\":0";
  it.stream = [](Shell, const std::string& cmd) {
    return post("/", json{{"cmd", cmd}, {"stream", true}}.dump(), "Connection: close\r\n");
  };
  return it;
}

Contender node() {
  auto it = script_server("node", "name node's path with --node", &Programs::node, "node_server.mjs");
  it.terminal = TerminalDialect{
      [](std::uint16_t, Shell, const std::string& cmd) { return "/?cmd=" + percent_encoded(cmd); },
      "",
      "",
      TerminalDialect::Input::Binary,
      [](std::string_view keys) { return std::string(keys); },
      ""};
  return it;
}

/// Its stream of a process's log has no end, and of much output not all: it is in no row of streams.
Contender sandbox_agent() {
  static const auto body = [](Shell shell, const std::string& cmd) {
    return json{{"command", path_of(shell)}, {"args", {"-c", cmd}}};
  };
  Contender it;
  it.name = "sandbox-agent";
  it.installed_by = "npm ci";
  it.program = [](const Programs& programs) -> const std::string& { return programs.sandbox_agent; };
  it.command = [](const Programs& programs, Shell, std::uint16_t port) {
    return unprivileged(
        {programs.sandbox_agent, "server", "--no-token", "--no-telemetry", "--port=" + std::to_string(port)});
  };
  it.request = [](Shell shell, const std::string& cmd) {
    return post("/v1/processes/run", body(shell, cmd).dump());
  };
  it.exit_0 = "\"exitCode\":0";
  it.record = [](Shell shell, int) { return post("/v1/processes", body(shell, "true").dump()); };
  it.terminal = TerminalDialect{[](std::uint16_t port, Shell shell, const std::string& cmd) {
                                  auto process = body(shell, cmd);
                                  process["tty"] = process["interactive"] = true;
                                  const std::string id =
                                      answer_to(port, post("/v1/processes", process.dump())).at("id");
                                  return "/v1/processes/" + id + "/terminal/ws";
                                },
                                "",
                                "",
                                TerminalDialect::Input::Text,
                                [](std::string_view keys) {
                                  return json{{"type", "input"}, {"data", keys}}.dump();
                                },
                                ""};
  return it;
}

/// It answers with the output alone, with another status where a command failed. See hooks.json.
Contender webhook() {
  Contender it;
  it.name = "webhook";
  it.installed_by = "scripts/setup bench";
  it.program = [](const Programs& programs) -> const std::string& { return programs.webhook; };
  it.command = [](const Programs& programs, Shell, std::uint16_t port) {
    return unprivileged({programs.webhook, "-hooks", kBench + "hooks.json", "-ip", "127.0.0.1", "-port",
                         std::to_string(port)});
  };
  it.request = [](Shell shell, const std::string& cmd) {
    return post("/hooks/" + name_of(shell), json{{"cmd", cmd}}.dump());
  };
  it.exit_0 = "HTTP/1.1 200 OK";
  return it;
}

/// Terminals alone: one for each WebSocket, by a command whose last argument comes with the request.
Contender ttyd() {
  Contender it;
  it.name = "ttyd";
  it.installed_by = "scripts/setup bench, where the release has it";
  it.program = [](const Programs& programs) -> const std::string& { return programs.ttyd; };
  it.command = [](const Programs& programs, Shell shell, std::uint16_t port) {
    return unprivileged({programs.ttyd, "--port", std::to_string(port), "--interface", "lo", "--writable",
                         "--url-arg", path_of(shell), "-c"});
  };
  it.terminal = TerminalDialect{
      [](std::uint16_t, Shell, const std::string& cmd) { return "/ws?arg=" + percent_encoded(cmd); },
      "Sec-WebSocket-Protocol: tty\r\n",
      R"({"AuthToken":"","columns":80,"rows":24})",
      TerminalDialect::Input::Binary,
      [](std::string_view keys) { return "0" + std::string(keys); },
      "0"};
  return it;
}

}  // namespace

std::string name_of(Shell shell) {
  return shell == Shell::Bash ? "bash" : "sh";
}

std::string path_of(Shell shell) {
  return "/bin/" + name_of(shell);
}

std::string start_execution(std::uint16_t port, const std::string& body) {
  return answer_to(port, post("/executions", body)).at("result").at("id");
}

const std::vector<Contender>& contenders() {
  static const std::vector<Contender> all{
      ours(),
      node(),
      script_server("python", "scripts/setup bench", &Programs::python, "python_server.py"),
      sandbox_agent(),
      webhook(),
      ttyd()};
  return all;
}

}  // namespace roombox::bench
