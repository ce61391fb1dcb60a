// What the agent adds to the kernel's own price of a command and of its output, beside what a plain Node
// server makes of the same. Prints one table.
//
//   agent_bench <path of roombox-agent> [--node=<path of node>] [part …] [--help]
//
// Parts: commands, shells, streaming, sessions, memory; all of them where none is named. It needs root, as
// the agent does. The three columns take turns in small slices, and a ratio is the median of those of the
// turns, so that what else the machine does hits all alike: compare within a run, never between runs.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/agent/bench/bench.h"

namespace roombox::bench {

Servers::Servers(const Options& options) : agent(agent_command(options.agent)) {
  if (!options.node.empty()) node.emplace(std::vector{options.node, options.node_server});
}

}  // namespace roombox::bench

namespace {

using namespace roombox::bench;

void run(const Options& options, const std::vector<std::string>& parts) {
  const auto wants = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  print_header(options);
  {
    Servers servers(options);
    if (wants("commands")) bench_commands(options, servers);
    if (wants("shells")) bench_shells(options, servers);
    if (wants("streaming")) bench_streaming(options, servers);
    if (wants("sessions")) bench_sessions(options, servers);
  }
  if (wants("memory")) bench_memory(options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.node_server = ROOMBOX_NODE_SERVER;
  std::vector<std::string> parts;
  CLI::App cli("Measures the agent beside the floor and a Node server.", "agent_bench");
  cli.add_option("agent", options.agent, "Path of roombox-agent")->required()->check(CLI::ExistingFile);
  cli.add_option("parts", parts, "What to measure")
      ->check(CLI::IsMember({"commands", "shells", "streaming", "sessions", "memory"}));
  cli.add_option("--node", options.node, "Path of node; without it, its column stays empty");
  cli.add_option("--rounds", options.rounds, "Commands timed one by one")->capture_default_str();
  cli.add_option("--slices", options.slices, "Turns of each in a measurement of throughput")
      ->capture_default_str();
  cli.add_option("--mib", options.mebibytes, "Size of the streamed file")->capture_default_str();
  cli.add_option("--streams", options.streams, "Turns of each at streaming it")->capture_default_str();
  cli.add_option("--seconds", options.seconds, "How long the memory is watched")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  try {
    run(options, parts);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "agent_bench: %s\n", failure.what());
    return 1;
  }
}
