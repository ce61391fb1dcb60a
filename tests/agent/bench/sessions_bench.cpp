#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/agent/attached.h"
#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

using nlohmann::json;

constexpr double kMicro = 1e6, kMilli = 1e3;

std::string start(const ServerProcess& agent, json body) {
  const auto response = Connection(agent.port()).exchange(post("/executions", body.dump()));
  if (response.status != 202) fail("not started: " + response.head + response.body);
  return json::parse(response.body).at("result").at("id");
}

void stop(const ServerProcess& agent, const std::string& id) {
  Connection(agent.port()).exchange(post("/executions/" + id + "/kill", ""));
}

/// The kernel's own price: a key written to a terminal, and its echo read, in one process.
Samples echo_floor(int rounds) {
  const Fd ours(must("posix_openpt", ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)));
  int locked = 0;
  must("ioctl", ::ioctl(ours.get(), TIOCSPTLCK, &locked));
  const Fd theirs(must("ioctl", ::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)));
  Samples samples;
  for (int i = 0; i < rounds; ++i) {
    samples.add(seconds_of([&] {
      char byte = 'x';
      must("write", ::write(ours.get(), &byte, 1));
      must("read", ::read(ours.get(), &byte, 1));
    }));
    if (i % 1000 == 999) ::tcflush(theirs.get(), TCIFLUSH);  // nobody reads the line
  }
  return samples;
}

Samples echo_times(const ServerProcess& agent, int rounds) {
  const auto id =
      start(agent, {{"cmd", "stty raw echo; echo ready; exec cat >/dev/null"}, {"pty", json::object()}});
  Attached client(agent.port(), id);
  std::string screen;
  for (bool live = false; !live || screen.find("ready") == screen.npos;) {
    const auto message = client.read();
    if (message.kind == "close") fail("the terminal ended");
    if (message.kind == "1") screen += message.payload;
    live |= message.kind == "4";
  }
  Samples samples;
  for (int i = 0; i < rounds; ++i) {
    samples.add(seconds_of([&] {
      client.type("x");
      if (client.read().payload != "x") fail("no echo");
    }));
  }
  stop(agent, id);
  return samples;
}

void bench_echo(const Options& options, const ServerProcess& agent) {
  const auto floor = echo_floor(options.rounds), ours = echo_times(agent, options.rounds);
  print({"keystroke echo in a terminal, us, p50",
         ours.median() * kMicro,
         floor.median() * kMicro,
         {},
         1,
         {},
         {}});
  print({"  p99", ours.quantile(0.99) * kMicro, floor.quantile(0.99) * kMicro, {}, 1, {}, {}});
}

void bench_idle_sessions(const Options& options) {
  constexpr int kSessions = 100;
  const ServerProcess agent(agent_command(options.agent));
  Connection(agent.port()).exchange(get("/health"));
  const long idle = process_status(agent.pid(), "VmRSS");
  std::vector<std::unique_ptr<Attached>> clients;
  std::vector<std::string> ids;
  for (int i = 0; i < kSessions; ++i) {
    ids.push_back(start(agent, {{"cmd", "echo ready; exec sleep 600"}, {"detach", true}}));
    clients.push_back(std::make_unique<Attached>(agent.port(), ids.back()));
    clients.back()->read_until("ready\n");
  }
  const long attached = process_status(agent.pid(), "VmRSS");
  for (const auto& id : ids) stop(agent, id);
  print({"memory of an idle attached session, KiB",
         static_cast<double>(attached - idle) / kSessions,
         {},
         {},
         1,
         {},
         {}});
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// How late each line comes that a busy command stamps with the time, at most.
double latest_line(const ServerProcess& agent, bool with_one_that_does_not_read) {
  const auto id =
      start(agent, {{"cmd",
                     "read -r; for i in {1..150}; do head -c 100000 /dev/zero | tr '\\0' '\\n'; echo "
                     "=$EPOCHREALTIME=; done"},
                    {"detach", true}});
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

}  // namespace

void bench_sessions(const Options& options, Servers& servers) {
  bench_echo(options, servers.agent);
  bench_idle_sessions(options);
  const double alone = latest_line(servers.agent, false), beside = latest_line(servers.agent, true);
  print({"latest line of a busy command, ms", alone * kMilli, {}, {}, 1, {}, {}});
  print({"  beside a client that never reads; ms more",
         beside * kMilli,
         {},
         {},
         1,
         (beside - alone) * kMilli,
         Target{Target::Bound::AtMost, 50}});
}

}  // namespace roombox::bench
