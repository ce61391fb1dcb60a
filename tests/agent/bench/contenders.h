#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Who runs commands for others over HTTP: the agent, and what people would take instead.
namespace roombox::bench {

enum class Shell { Bash, Sh };
inline constexpr Shell kShells[] = {Shell::Bash, Shell::Sh};

/// /bin/bash or /bin/sh.
std::string path_of(Shell shell);
std::string name_of(Shell shell);

/// Where the programs are; empty where one is not installed.
struct Programs {
  std::string agent, node, python, sandbox_agent, webhook, ttyd;
};

/// How a terminal is had from a contender and what its WebSocket carries.
struct TerminalDialect {
  /// Starts a command in a terminal, and answers with the target of its WebSocket.
  std::function<std::string(std::uint16_t port, Shell shell, const std::string& cmd)> open;
  std::string headers;  ///< Of the WebSocket's request: whole lines.
  std::string hello;    ///< The first message of the client, a binary one; empty for none.
  enum class Input { Binary, Text } input;
  std::function<std::string(std::string_view keys)> typed;  ///< Keys, as a message.
  std::string output;  ///< What each message of output begins with, before the bytes.
};

struct Contender {
  std::string name;
  std::string installed_by;  ///< What there is to do where it is not installed.
  std::function<const std::string&(const Programs&)> program;

  /// The command line of a server that listens on that port of 127.0.0.1.
  std::function<std::vector<std::string>(const Programs&, Shell, std::uint16_t port)> command;

  /// A request that runs a command and has its output in the response; none where it runs no commands.
  std::function<std::string(Shell, const std::string& cmd)> request = {};
  std::string exit_0 = {};  ///< What the response of a command that has succeeded holds.

  /// A request that has a command's output as it is written, all of it; none where it does not stream or
  /// loses output.
  std::function<std::string(Shell, const std::string& cmd)> stream = {};

  /// A request that leaves behind a record of a command, which is kept; none where nothing is.
  std::function<std::string(Shell, int number)> record = {};

  std::optional<TerminalDialect> terminal = {};
};

/// All of them, ours the first.
const std::vector<Contender>& contenders();

/// Has an agent of ours start what does not end with its call, in a terminal or detached.
/// @param body JSON
/// @return the execution's id
std::string start_execution(std::uint16_t port, const std::string& body);

}  // namespace roombox::bench
