#include <nlohmann/json.hpp>

#include "tests/agent/attached.h"
#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

using nlohmann::json;

constexpr double kMilli = 1e3;
constexpr double kLaterGoal = 50;  // ms
constexpr int kFlooding = 8, kCalls = 300;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// How late each line comes that a busy command stamps with the time, at most.
double latest_line(const ServerProcess& agent, bool with_one_that_does_not_read) {
  const auto id = start_execution(
      agent.port(), json{{"cmd",
                          "read -r; for i in {1..150}; do head -c 100000 /dev/zero | tr '\\0' '\\n'; echo "
                          "=$EPOCHREALTIME=; done"},
                         {"detach", true}}
                        .dump());
  std::optional<Attached> idle;
  if (with_one_that_does_not_read) idle.emplace(agent.port(), id);
  Attached client(agent.port(), id);
  client.type("\n");
  double latest = 0;
  std::string line;
  for (auto message = client.read(); message.kind != "close"; message = client.read()) {
    if (message.kind != "1") continue;
    line += message.payload;
    for (auto at = line.find('='); at != line.npos; at = line.find('=')) {
      const auto end = line.find('=', at + 1);
      if (end == line.npos) break;
      latest = std::max(latest, now() - std::stod(line.substr(at + 1, end)));
      line.erase(0, end + 1);
    }
  }
  return latest;
}

/// How long small calls take beside terminals that print lines, which nobody reads and nothing slows down.
Samples beside_flooding(const ServerProcess& agent) {
  std::vector<std::string> flooding;
  const auto body = json{{"cmd", "exec yes"}, {"detach", true}, {"pty", json::object()}}.dump();
  for (int i = 0; i < kFlooding; ++i) flooding.push_back(start_execution(agent.port(), body));
  Connection connection(agent.port());
  Samples times;
  for (int i = 0; i < kCalls; ++i) {
    times.add(seconds_of([&] {
      if (connection.exchange(get("/health")).status != 200) fail("the agent is not healthy");
    }));
  }
  for (const auto& id : flooding) {
    const auto killed = connection.exchange(post("/executions/" + id + "/kill", R"({"signal":"SIGKILL"})"));
    if (killed.status != 200) fail("not killed: " + killed.body);
  }
  return times;
}

}  // namespace

void bench_sessions(const ServerProcess& agent) {
  const double alone = latest_line(agent, false), beside = latest_line(agent, true);
  const auto print_time = [](const char* name, double seconds, std::vector<Goal> goals) {
    print({name, "ms", Better::Less, "agent", {{kOurs, single(kMilli * seconds)}}, std::move(goals)});
  };
  print_time("latest line of a busy command", alone, {});
  const auto calls = beside_flooding(agent);
  const std::string call = "GET /health beside " + std::to_string(kFlooding) + " terminals that print lines";
  print({call, "ms", Better::Less, "agent", {{kOurs, figure_of(calls, kMilli)}}});
  print({call + ", p99", "ms", Better::Less, "agent", {{kOurs, single(kMilli * calls.quantile(0.99))}}});
  print_time("later beside a client that never reads", std::max(0.0, beside - alone), {at_most(kLaterGoal)});
}

}  // namespace roombox::bench
