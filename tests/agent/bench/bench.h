#pragma once

#include <optional>
#include <string>

#include "tests/agent/bench/server_process.h"

namespace roombox::bench {

struct Options {
  std::string agent;        ///< Path of roombox-agent.
  std::string node;         ///< Path of node; empty where there is none.
  std::string node_server;  ///< Path of node_server.mjs.
  int rounds = 1000;        ///< Commands that are timed one by one.
  int slices = 15;          ///< Turns that each of the three takes in a measurement of throughput.
  int mebibytes = 256;      ///< Of the streamed file.
  int streams = 5;          ///< Turns that each takes at streaming it.
  int seconds = 60;         ///< That `yes` runs in the measurement of memory.
};

/// The agent, and Node where it is there.
struct Servers {
  explicit Servers(const Options& options);

  ServerProcess agent;
  std::optional<ServerProcess> node;
};

/// What a ratio must be at most, or at least.
struct Target {
  enum class Bound { AtMost, AtLeast } bound;
  double value;
};

/// One line of the table; an absent figure was not, or could not be, measured.
struct Row {
  std::string name;
  std::optional<double> ours, floor, node;
  int decimals = 0;
  std::optional<double> ratio;  ///< Ours to the floor, whichever way round the target is worded.
  std::optional<Target> target;
};

void print_header(const Options& options);
void print(const Row& row);

/// `true` by a shell: one after the other, and several at once.
void bench_commands(const Options& options, Servers& servers);

/// The same in persistent shells.
void bench_shells(const Options& options, Servers& servers);

/// A file of lines through the agent as server-sent events, and through a socket by `cat` alone.
void bench_streaming(const Options& options, Servers& servers);

/// Keystrokes in a terminal, idle attached clients, and one that never reads.
void bench_sessions(const Options& options, Servers& servers);

/// The memory of agents whose command writes without end.
void bench_memory(const Options& options);

}  // namespace roombox::bench
