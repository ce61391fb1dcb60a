#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

constexpr double kMilli = 1000;

double resident(const Running& running) {
  return static_cast<double>(process_status(running.server.pid(), "VmRSS"));
}

/// All of them in turns: until they accept connections, and from the signal to their end.
void bench_starts(const Options& options) {
  std::map<std::string, Samples> ready, end, idle;
  for (int i = 0; i < options.starts; ++i) {
    for (const auto& contender : contenders()) {
      if (contender.program(options.programs).empty()) continue;
      std::optional<Running> running;
      ready[contender.name].add(seconds_of([&] { running.emplace(contender, options.programs, Shell::Sh); }));
      idle[contender.name].add(resident(*running));
      end[contender.name].add(seconds_of([&] { running.reset(); }));
    }
  }
  Row to_ready{"from its start to a connection", "ms"}, to_end{"from SIGTERM to its end", "ms"},
      memory{"resident, idle", "KiB", Better::Less, "memory"};
  for (const auto& [who, times] : ready) to_ready.figures[who] = figure_of(times, kMilli);
  for (const auto& [who, times] : end) to_end.figures[who] = figure_of(times, kMilli);
  for (const auto& [who, sizes] : idle) memory.figures[who] = figure_of(sizes);
  print(ahead(std::move(to_ready)));
  print(to_end);
  print(ahead(std::move(memory)));
}

/// What those hold more that keep a record of what has ended.
void bench_records(const Options& options) {
  Row row{"per 1000 records kept", "KiB", Better::Less, "memory"};
  for (const auto& contender : contenders()) {
    if (!contender.record || contender.program(options.programs).empty()) continue;
    const Running running(contender, options.programs, Shell::Sh);
    Connection connection(running.server.port());
    const auto keep = [&](int number) {
      const auto response = connection.exchange(contender.record(Shell::Sh, number));
      if (response.status != 200) fail(contender.name + " keeps no record: " + response.head + response.body);
    };
    constexpr int kFirst = 20;
    for (int i = 0; i < kFirst; ++i) keep(i);
    const double before = resident(running);
    for (int i = 0; i < options.records; ++i) keep(kFirst + i);
    row.figures[contender.name] = single(1000 * (resident(running) - before) / options.records);
  }
  print(ahead(std::move(row)));
}

}  // namespace

void bench_footprint(const Options& options) {
  bench_starts(options);
  bench_records(options);
}

}  // namespace roombox::bench
