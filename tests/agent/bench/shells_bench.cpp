#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/load.h"

namespace roombox::bench {
namespace {

constexpr char kExpected[] = "\"exitCode\":0";
constexpr int kWarmUp = 20;
constexpr int kPerSlice = 1000;  // some 100 ms
constexpr int kSpawns = 100;
constexpr double kMilli = 1000;

std::string true_in(int shell) {
  return post("/executions", R"({"cmd":"true","shell":"s)" + std::to_string(shell) + "\"}");
}

void bench_latency(const Options& options, const ServerProcess& agent) {
  Load ours(agent.port(), 1, true_in(0), holds(kExpected));
  Samples our_times, floor_times;
  for (int i = -kWarmUp; i < options.rounds; ++i) {
    if (i == 0) our_times = floor_times = {};
    floor_times.add(seconds_of([] { floor::run(Shell::Bash, "true"); }));
    our_times.add(seconds_of([&] { ours.run(1); }));
  }
  Row typical{"true, in a persistent shell", "ms"}, tail{"true, in a persistent shell, p99", "ms"};
  typical.figures = {{kOurs, figure_of(our_times, kMilli)}, {kFloor, figure_of(floor_times, kMilli)}};
  tail.figures = {{kOurs, single(kMilli * our_times.quantile(0.99))},
                  {kFloor, single(kMilli * floor_times.quantile(0.99))}};
  print(typical);
  print(tail);
}

void bench_throughput(const Options& options, const ServerProcess& agent, int shells) {
  std::vector<std::string> requests;
  for (int shell = 0; shell < shells; ++shell) requests.push_back(true_in(shell));
  Load ours(agent.port(), requests, holds(kExpected));
  ours.run(shells);
  Samples our_rates, floor_rates;
  for (int i = 0; i < options.slices; ++i) {
    floor_rates.add(kSpawns / seconds_of([&] { floor::run(Shell::Bash, "true", kSpawns, shells); }));
    our_rates.add(kPerSlice / seconds_of([&] { ours.run(kPerSlice); }));
  }
  Row row{"true, in " + std::to_string(shells) + " persistent shells at once", "/s", Better::More};
  row.figures = {{kOurs, figure_of(our_rates)}, {kFloor, figure_of(floor_rates)}};
  print(row);
}

}  // namespace

/// The floor is the price of spawning a shell instead, as of bench_commands.
void bench_shells(const Options& options, const ServerProcess& agent) {
  bench_latency(options, agent);
  for (const int shells : {1, 8}) bench_throughput(options, agent, shells);
}

}  // namespace roombox::bench
