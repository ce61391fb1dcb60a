#include <algorithm>
#include <functional>
#include <random>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/load.h"
#include "tests/agent/bench/text_file.h"

namespace roombox::bench {
namespace {

/// First turns that are not counted.
constexpr int kWarmUp = 10;
/// Turns whose p99 is one sample of it.
constexpr int kTurnsOfTail = 100;
/// Commands of one turn, for each connection, and at least: some 100 ms.
constexpr int kPerConnection = 4;
constexpr int kPerSlice = 64;
constexpr double kMilli = 1000;
constexpr double kOfFloor = 1.2, kOfFloorsRate = 0.8;
/// How many at once that rate is asked of: with fewer the floor does not wait, with more it is not the floor.
constexpr int kManyAtOnce = 8;

struct Times {
  Samples all, tails;

  void add(double time) {
    all.add(time);
    tail_.add(time);
    if (tail_.size() == kTurnsOfTail) flush();
  }
  void flush() {
    if (tail_.size() > 0) tails.add(tail_.quantile(0.99));
    tail_ = {};
  }

 private:
  Samples tail_;
};

/// One who takes turns at a command.
struct Runner {
  std::string name;
  std::function<void(int count)> run;
  Times times = {};
};

/// The floor and all who run commands. @param check of a response, beside that it is of a command's success
std::vector<Runner> runners(const Field& field, Shell shell, const std::string& cmd, int connections,
                            const Load::Check& check) {
  std::vector<Runner> all{{kFloor, [=](int count) { floor::run(shell, cmd, count, connections); }}};
  for (const auto& running : field) {
    const auto& who = running->who;
    if (!who.request) continue;
    const auto load =
        std::make_shared<Load>(running->server.port(), connections, who.request(shell, cmd),
                               [&who, check](const std::string& response) {
                                 return response.find(who.exit_0) != response.npos && check(response);
                               });
    all.push_back({who.name, [load](int count) { load->run(count); }});
  }
  return all;
}

/// Times all at that many commands in each turn, in an order by chance: what one has to do after its answer
/// is not to burden always the same.
void take_turns(std::vector<Runner>& all, int count, int turns, int not_counted) {
  std::mt19937 chance;
  std::vector<Runner*> order;
  for (auto& runner : all) order.push_back(&runner);
  for (int i = -not_counted; i < turns; ++i) {
    std::shuffle(order.begin(), order.end(), chance);
    for (auto* runner : order) {
      const double time = seconds_of([&] { runner->run(count); });
      if (i >= 0) runner->times.add(time);
    }
  }
}

struct Command {
  std::string name, cmd;
  Load::Check check;
};

void print_quantiles(const std::string& name, std::vector<Runner>& all, std::vector<Goal> goals) {
  Row typical{name, "ms"}, tail{name + ", p99", "ms"};
  for (auto& runner : all) {
    runner.times.flush();
    typical.figures[runner.name] = figure_of(runner.times.all, kMilli);
    tail.figures[runner.name] = figure_of(runner.times.tails, kMilli);
  }
  typical.goals = std::move(goals);
  print(ahead(std::move(typical)));
  print(ahead(std::move(tail)));
}

void bench_one_by_one(const Field& field, Shell shell, const Command& command, int rounds,
                      std::vector<Goal> goals) {
  auto all = runners(field, shell, command.cmd, 1, command.check);
  const auto server = std::make_shared<floor::Server>(shell, command.cmd);
  all.push_back({kServersFloor, [server](int count) { server->run(count); }});
  take_turns(all, 1, rounds, kWarmUp);
  print_quantiles(command.name + ", one by one, " + name_of(shell), all, std::move(goals));
}

void bench_rate(const Field& field, Shell shell, int concurrent, int slices) {
  auto all = runners(field, shell, "true", concurrent, [](const std::string&) { return true; });
  const int count = std::max(kPerSlice, kPerConnection * concurrent);
  take_turns(all, count, slices, 1);
  Row row{"true, " + std::to_string(concurrent) + " at once, " + name_of(shell), "/s", Better::More};
  for (const auto& runner : all) row.figures[runner.name] = rate_of(runner.times.all, count);
  if (concurrent == kManyAtOnce) row.goals = {at_least(kOfFloorsRate, kFloor)};
  print(ahead(std::move(row)));
}

/// With its end, which an answer writes as it is or as JSON does; without it, it may be the command.
bool has_hello(const std::string& response) {
  return response.find("hello\n") != response.npos || response.find("hello\\n") != response.npos;
}

Load::Check has_all_of(const TextFile& file) {
  return [lines = file.lines()](const std::string& response) {
    return static_cast<std::size_t>(std::count(response.begin(), response.end(), TextFile::kMark)) >= lines;
  };
}

void print_resident(const std::string& name, const Field& field) {
  Row row{name, "KiB", Better::Less, "memory"};
  for (const auto& running : field) {
    if (running->who.request)
      row.figures[running->who.name] =
          single(static_cast<double>(process_status(running->server.pid(), "VmRSS")));
  }
  print(ahead(std::move(row)));
}

}  // namespace

void bench_commands(const Options& options, const Field& field, Shell shell) {
  const TextFile large(1u << 20);
  const Goal near_floor = at_most(kOfFloor, kServersFloor);
  bench_one_by_one(field, shell, {"true", "true", [](const std::string&) { return true; }}, options.rounds,
                   {near_floor});
  bench_one_by_one(field, shell, {"echo hello", "echo hello", has_hello}, options.rounds, {near_floor});
  // The floor takes such an output too, but gives it to nobody.
  bench_one_by_one(field, shell, {"1 MiB of output", "cat " + large.path(), has_all_of(large)},
                   options.large_rounds, {});
  for (const int concurrent : options.at_once) bench_rate(field, shell, concurrent, options.slices);
  print_resident("resident, after these, " + name_of(shell), field);
  if (shell != Shell::Bash) return;
  Load health(field.front()->server.port(), 1, get("/health"), holds("\r\n\r\nok"));
  Samples times;
  for (int i = 0; i < options.rounds; ++i) times.add(seconds_of([&] { health.run(1); }));
  print({"GET /health", "ms", Better::Less, "agent", {{kOurs, figure_of(times, kMilli)}}});
}

}  // namespace roombox::bench
