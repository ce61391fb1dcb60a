#include <algorithm>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/load.h"

namespace roombox::bench {
namespace {

constexpr char kExpected[] = "\"exitCode\":0";
constexpr int kWarmUp = 20;
constexpr int kPerSlice = 2000;  // some 200 ms

std::string true_in(int shell) {
  return post("/executions", R"({"cmd":"true","shell":"s)" + std::to_string(shell) + "\"}");
}

void bench_latency(const Options& options, Servers& servers) {
  Load ours(servers.agent.port(), 1, true_in(0), kExpected);
  Load health(servers.agent.port(), 1, get("/health"), "\r\n\r\nok");
  Samples our_times, health_times, floor_times;
  for (int i = -kWarmUp; i < options.rounds; ++i) {
    if (i == 0) our_times = health_times = floor_times = {};
    floor_times.add(seconds_of([] { floor::run(1, 1); }));
    our_times.add(seconds_of([&] { ours.run(1); }));
    health_times.add(seconds_of([&] { health.run(1); }));
  }
  for (const double quantile : {0.5, 0.99}) {
    const std::string name = quantile == 0.5 ? "p50" : "p99";
    const double our_time = our_times.quantile(quantile), floor_time = floor_times.quantile(quantile);
    print({"true, in a shell, " + name + ", ms",
           1000 * our_time,
           1000 * floor_time,
           {},
           3,
           our_time / floor_time,
           {}});
  }
  print({"GET /health, p50, ms", 1000 * health_times.median(), {}, {}, 3, {}, {}});
}

void bench_throughput(const Options& options, Servers& servers, int shells) {
  std::vector<std::string> requests;
  for (int shell = 0; shell < shells; ++shell) requests.push_back(true_in(shell));
  Load ours(servers.agent.port(), requests, kExpected);
  ours.run(shells);
  Samples our_times, floor_times;
  const int spawns = std::max(shells, 100);
  for (int i = 0; i < options.slices; ++i) {
    floor_times.add(seconds_of([&] { floor::run(spawns, shells); }) / spawns);
    our_times.add(seconds_of([&] { ours.run(kPerSlice); }) / kPerSlice);
  }
  const double ours_each = our_times.median(), floor_each = floor_times.median();
  print({"true, in " + std::to_string(shells) + " shells at once, per second",
         1 / ours_each,
         1 / floor_each,
         {},
         0,
         ours_each / floor_each,
         {}});
}

}  // namespace

/// The floor is the price of spawning a shell instead, as of bench_commands.
void bench_shells(const Options& options, Servers& servers) {
  bench_latency(options, servers);
  for (const int shells : {1, 2, 4, 8}) bench_throughput(options, servers, shells);
}

}  // namespace roombox::bench
