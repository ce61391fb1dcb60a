#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/agent/bench/contenders.h"
#include "tests/agent/bench/server_process.h"
#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// How much is measured. The defaults take some five minutes on two processors.
struct Options {
  Programs programs;
  int rounds = 500;       ///< Commands that are timed one by one, of each contender.
  int large_rounds = 50;  ///< Of those with 1 MiB of output.
  int slices = 7;         ///< Turns that each takes in a measurement of a rate.
  int streams = 5;        ///< Turns that each takes at a stream.
  int seconds = 15;       ///< That `yes` runs in the measurement of memory.
  int mebibytes = 256;    ///< Of the large stream; the small one is 100, or this where it is less.
  int sessions = 64;      ///< Terminals open at once.
  int records = 1000;     ///< Ended executions that are kept.
  int starts = 9;
  std::vector<int> at_once = {1, 8, 32, 64};     ///< Commands at once in a measurement of a rate.
  std::vector<int> lives = {10, 1000, 100'000};  ///< Executions in an agent's life.
  std::vector<int> outputs = {1, 1 << 10, 64 << 10, 1 << 20};  ///< Sizes of an output, in KiB.
};

/// A contender's server, for commands by one shell.
struct Running {
  Running(const Contender& contender, const Programs& programs, Shell shell)
      : Running(contender, programs, shell, free_port()) {}

  const Contender& who;
  ServerProcess server;

 private:
  Running(const Contender& contender, const Programs& programs, Shell shell, std::uint16_t port)
      : who(contender), server(contender.command(programs, shell, port), port) {}
};

/// Those of the contenders that are installed, ours the first.
using Field = std::vector<std::unique_ptr<Running>>;
Field start_all(const Options& options, Shell shell);

struct Figure {
  double median, low, high;  ///< With the quartiles.
};

/// What has been sampled, in another unit. @param factor to that unit
Figure figure_of(const Samples& samples, double factor = 1);

/// That many of something in each of the times that were sampled, as what is done in a second.
Figure rate_of(const Samples& seconds, double count);

/// One that was measured once.
inline Figure single(double value) {
  return {value, value, value};
}

/// What a figure of ours must be at most or at least, as a multiple of another's or, of nobody's, as it is.
struct Goal {
  enum class Bound { AtMost, AtLeast } bound;
  double value;
  std::string to = {};
};

inline Goal at_most(double value, std::string to = {}) {
  return {Goal::Bound::AtMost, value, std::move(to)};
}
inline Goal at_least(double value, std::string to = {}) {
  return {Goal::Bound::AtLeast, value, std::move(to)};
}

enum class Better { Less, More };

/// One line of the report.
struct Row {
  std::string name;
  std::string unit;
  Better better = Better::Less;
  std::string section = "agent";
  /// By contender; who could not do it is absent. Beside them kFloor, and what else a goal is about.
  std::map<std::string, Figure> figures = {};
  std::vector<Goal> goals = {};
  std::string series = {};  ///< The line of a chart that it is a point of; empty for none.
  double x = 0;
};

inline constexpr char kOurs[] = "ours", kFloor[] = "floor";
/// The floor as a server has it: with a round trip (floor::Server).
inline constexpr char kServersFloor[] = "floor over TCP";

/// Adds the goal to be ahead of everybody in the row but of the floor.
Row ahead(Row row);

enum class Format { Table, Json };
void print_header(Format format);

/// Prints it on stdout.
void print(const Row& row);

/// Says on stderr why a contender is left out.
void leave_out(const std::string& who, const std::string& why);

/// How long servers take to start and to end, and what they hold before and after work.
void bench_footprint(const Options& options);

/// Commands by a new shell each: one after the other, and several at once.
void bench_commands(const Options& options, const Field& field, Shell shell);

/// `true` in persistent shells of ours.
void bench_shells(const Options& options, const ServerProcess& agent);

/// Files of lines as a stream, each byte checked once.
void bench_streaming(const Options& options, const Field& field);

/// One command's output to several attached clients.
void bench_fan_out(const Options& options, const Running& ours);

/// Keystrokes, output and memory of terminals.
void bench_terminals(const Options& options, const Field& field);

/// Attached clients of which one never reads, and calls beside terminals that print.
void bench_sessions(const ServerProcess& agent);

/// The memory of agents whose command writes without end.
void bench_memory(const Options& options);

/// What an execution costs late in an agent's life, and what a large output costs.
void bench_growth(const Options& options);

}  // namespace roombox::bench
