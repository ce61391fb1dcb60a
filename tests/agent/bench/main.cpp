// What the agent makes of a command and of its output, beside the kernel's own price (the floor) and what
// people would take instead (contenders.cpp). Prints a table, or with --json one line for each row of it.
//
//   agent_bench <path of roombox-agent> [--node=<path of node>] [part …] [--json] [--quick] [--help]
//
// Parts: footprint, commands, shells, streaming, terminals, sessions, memory, growth; all where none is
// named. It needs root, as the agent does. All take turns in small slices, so that what else the machine does
// hits all alike: compare within a run, never between runs. Who is not installed is left out with a line on
// stderr: `scripts/setup bench` installs all.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/agent/bench/bench.h"

namespace roombox::bench {

Field start_all(const Options& options, Shell shell) {
  Field field;
  for (const auto& contender : contenders()) {
    if (contender.program(options.programs).empty()) continue;
    try {
      field.push_back(std::make_unique<Running>(contender, options.programs, shell));
    } catch (const std::exception& failure) {
      if (contender.name == kOurs) throw;
      leave_out(contender.name, failure.what());
    }
  }
  return field;
}

}  // namespace roombox::bench

namespace {

using namespace roombox::bench;

const std::vector<std::string> kParts{"footprint", "commands", "shells", "streaming",
                                      "terminals", "sessions", "memory", "growth"};

/// What shows that no benchmark is broken, in half a minute; its figures say nothing.
Options quick(Options options) {
  options.rounds = 20;
  options.large_rounds = 3;
  options.slices = options.streams = options.starts = 2;
  options.seconds = 2;
  options.mebibytes = 8;
  options.sessions = 8;
  options.records = 50;
  options.at_once = {8};
  options.lives = {10, 100};
  options.outputs = {1, 1 << 10, 8 << 10};
  return options;
}

void run(const Options& options, const std::vector<std::string>& parts) {
  const auto wants = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  if (wants("footprint")) bench_footprint(options);
  if (wants("commands")) {
    for (const Shell shell : kShells) {
      auto field = start_all(options, shell);
      bench_commands(options, field, shell);
    }
  }
  {
    auto field = start_all(options, Shell::Bash);
    const auto& agent = field.front()->server;
    if (wants("shells")) bench_shells(options, agent);
    if (wants("streaming")) bench_streaming(options, field);
    if (wants("streaming")) bench_fan_out(options, *field.front());
    if (wants("terminals")) bench_terminals(options, field);
    if (wants("sessions")) bench_sessions(agent);
  }
  if (wants("memory")) bench_memory(options);
  if (wants("growth")) bench_growth(options);
}

/// Where a program is that was not named: among the system's own, since others may be closed to who is
/// unprivileged.
std::string find_program(const std::string& name) {
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    if (const auto path = directory + name; ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string unless_absent(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 ? path : "";
}

void report_absent(const Programs& programs) {
  for (const auto& contender : contenders()) {
    if (contender.program(programs).empty())
      leave_out(contender.name, "it is not installed: " + contender.installed_by);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Programs& programs = options.programs;
  programs = {"",
              "",
              find_program("python3"),
              unless_absent(ROOMBOX_NODE_MODULES "@sandbox-agent/cli-linux-x64/bin/sandbox-agent"),
              find_program("webhook"),
              find_program("ttyd")};
  std::vector<std::string> parts;
  bool json = false, is_quick = false;
  CLI::App cli("Measures the agent beside the floor and what people would take instead.", "agent_bench");
  cli.add_option("agent", programs.agent, "Path of roombox-agent")->required()->check(CLI::ExistingFile);
  cli.add_option("parts", parts, "What to measure")->check(CLI::IsMember(kParts));
  cli.add_option("--node", programs.node, "Path of node; without it, it is left out");
  cli.add_option("--ttyd", programs.ttyd, "Path of ttyd")->capture_default_str();
  cli.add_option("--rounds", options.rounds, "Commands timed one by one")->capture_default_str();
  cli.add_option("--slices", options.slices, "Turns of each in a measurement of a rate")
      ->capture_default_str();
  cli.add_flag("--json", json, "One line of JSON for each row");
  cli.add_flag("--quick", is_quick, "A few rounds of each, to see that none is broken");
  CLI11_PARSE(cli, argc, argv);
  if (is_quick) options = quick(options);
  try {
    report_absent(programs);
    print_header(json ? Format::Json : Format::Table);
    run(options, parts);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "agent_bench: %s\n", failure.what());
    return 1;
  }
}
