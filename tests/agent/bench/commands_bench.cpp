#include <algorithm>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/load.h"

namespace roombox::bench {
namespace {

constexpr char kExpected[] = "\"exitCode\":0";
constexpr Target kLatency{Target::Bound::AtMost, 1.25};
constexpr Target kThroughput{Target::Bound::AtMost, 1.5};
/// First turns that are not counted.
constexpr int kWarmUp = 20;
/// Commands of one turn, for each connection, and at least: some 100 ms.
constexpr int kPerConnection = 8;
constexpr int kPerSlice = 100;

Load true_load(const ServerProcess& server, int connections) {
  return Load(server.port(), connections, post("/executions", R"({"cmd":"true"})"), kExpected);
}

std::optional<double> milliseconds(const Samples& seconds, double quantile, bool measured) {
  if (!measured) return std::nullopt;
  return 1000 * seconds.quantile(quantile);
}

void bench_latency(const Options& options, Servers& servers) {
  Load ours = true_load(servers.agent, 1);
  Load health(servers.agent.port(), 1, get("/health"), "\r\n\r\nok");
  std::optional<Load> node;
  if (servers.node) node.emplace(true_load(*servers.node, 1));
  Samples our_times, health_times, floor_times, node_times;
  for (int i = -kWarmUp; i < options.rounds; ++i) {
    if (i == 0) our_times = health_times = floor_times = node_times = {};
    floor_times.add(seconds_of([] { floor::run(1, 1); }));
    our_times.add(seconds_of([&] { ours.run(1); }));
    if (node) node_times.add(seconds_of([&] { node->run(1); }));
    health_times.add(seconds_of([&] { health.run(1); }));
  }
  for (const double quantile : {0.5, 0.99}) {
    Row row;
    row.name = quantile == 0.5 ? "true, one by one, p50, ms" : "true, one by one, p99, ms";
    row.ours = milliseconds(our_times, quantile, true);
    row.floor = milliseconds(floor_times, quantile, true);
    row.node = milliseconds(node_times, quantile, node.has_value());
    row.decimals = 3;
    row.ratio = *row.ours / *row.floor;
    if (quantile == 0.5) row.target = kLatency;
    print(row);
  }
  print({"GET /health, p50, ms", 1000 * health_times.median(), {}, {}, 3, {}, {}});
}

void bench_throughput(const Options& options, Servers& servers, int concurrent) {
  Load ours = true_load(servers.agent, concurrent);
  std::optional<Load> node;
  if (servers.node) node.emplace(true_load(*servers.node, concurrent));
  const int count = std::max(kPerSlice, kPerConnection * concurrent);
  Samples our_times, floor_times, node_times, ratios;
  for (int i = -1; i < options.slices; ++i) {
    if (i == 0) our_times = floor_times = node_times = ratios = {};
    const double floor_time = seconds_of([&] { floor::run(count, concurrent); });
    const double our_time = seconds_of([&] { ours.run(count); });
    if (node) node_times.add(seconds_of([&] { node->run(count); }));
    floor_times.add(floor_time);
    our_times.add(our_time);
    ratios.add(our_time / floor_time);
  }
  Row row;
  row.name = "true, " + std::to_string(concurrent) + " at once, per second";
  row.ours = count / our_times.median();
  row.floor = count / floor_times.median();
  if (node) row.node = count / node_times.median();
  row.ratio = ratios.median();
  row.target = kThroughput;
  print(row);
}

void bench_start(const Options& options) {
  constexpr int kStarts = 10;
  Samples ours, node;
  for (int i = 0; i < kStarts; ++i) {
    ours.add(seconds_of([&] { ServerProcess server(agent_command(options.agent)); }));
    if (!options.node.empty())
      node.add(seconds_of([&] { ServerProcess server({options.node, options.node_server}); }));
  }
  Row row{"from its start to its end, p50, ms", 1000 * ours.median(), {}, {}, 1, {}, {}};
  if (!options.node.empty()) row.node = 1000 * node.median();
  print(row);
}

void print_resident(const std::string& name, const Servers& servers) {
  const auto resident = [](const ServerProcess& server) {
    return static_cast<double>(process_status(server.pid(), "VmRSS"));
  };
  Row row{name, resident(servers.agent), {}, {}, 0, {}, {}};
  if (servers.node) row.node = resident(*servers.node);
  print(row);
}

}  // namespace

void bench_commands(const Options& options, Servers& servers) {
  bench_start(options);
  print_resident("resident, idle, KiB", servers);
  bench_latency(options, servers);
  for (const int concurrent : {1, 8, 32}) bench_throughput(options, servers, concurrent);
  print_resident("resident, after these, KiB", servers);
}

}  // namespace roombox::bench
