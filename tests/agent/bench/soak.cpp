// Runs very many executions of every kind against one agent, holds every answer and every record against what
// it must be, and watches whether anything accumulates. Exits with 1 if an answer is wrong or something grew.
//
//   scripts/soak [--executions=100000] [--connections=32] [--help]
//
// which is this program in a PID namespace of its own, so that every process it sees is the agent's. It needs
// root, as the agent does. At each interval all clients pause until the agent has nothing to do; what is
// there then is printed, and held against what was there after a fifth of them.

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "container/limits.h"
#include "tests/agent/bench/census.h"
#include "tests/agent/bench/expectations.h"
#include "tests/agent/bench/server_process.h"
#include "tests/agent/bench/sse.h"

namespace {

using namespace roombox::bench;
using nlohmann::json;

struct Options {
  std::string agent;
  std::string user = "games";  ///< An account that every Debian has and nobody uses.
  int executions = 100'000;
  int connections = 32;
  int intervals = 20;
  long growth_kib = 1024;
};

constexpr std::chrono::seconds kPatience{60};
constexpr int kExitTimeout = 124, kExitKilled = 137;
constexpr std::size_t kStored = 1u << 20;

void expect(bool truth, const std::string& what, const std::string& got) {
  if (!truth) fail(what + ", not as in: " + got.substr(0, 1000));
}

/// One client: a connection, and executions one after the other on it.
class Client {
 public:
  Client(std::uint16_t port, Expectations& records, unsigned seed)
      : port_(port), records_(records), random_(seed), connection_(port) {}

  /// Runs one execution of some kind; throws where anything about it is wrong.
  void run_one();

 private:
  void plain();
  void plain_orphans();
  void plain_large();
  void stream();
  void timeout();
  void leave();
  void detach_and_kill();
  void detach();

  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  std::string new_id();
  Connection::Response execute(const json& body, const std::string& id = {});
  json result_of(const Connection::Response& response, int status) const;

  const std::uint16_t port_;
  Expectations& records_;
  std::mt19937 random_;
  Connection connection_;
};

void Client::run_one() {
  struct Kind {
    int weight;  ///< Of 1000.
    void (Client::*run)();
  };
  static constexpr Kind kKinds[] = {{420, &Client::plain},          {60, &Client::plain_orphans},
                                    {5, &Client::plain_large},      {250, &Client::stream},
                                    {65, &Client::timeout},         {80, &Client::leave},
                                    {60, &Client::detach_and_kill}, {60, &Client::detach}};
  int drawn = number(1000);
  for (const auto& kind : kKinds) {
    if ((drawn -= kind.weight) < 0) return (this->*kind.run)();
  }
}

std::string Client::new_id() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id = "exec_";
  for (int i = 0; i < 20; ++i) id += kHex[number(16)];
  return id;
}

/// @param id of a recorded one; empty for one that nobody keeps
Connection::Response Client::execute(const json& body, const std::string& id) {
  const std::string header = id.empty() ? "" : "Roombox-Execution: " + id + "\r\n";
  return connection_.exchange(post("/executions", body.dump(), header));
}

json Client::result_of(const Connection::Response& response, int status) const {
  expect(response.status == status, "status " + std::to_string(status), response.head + response.body);
  return json::parse(response.body).at("result");
}

/// Both streams and the exit code, recorded or not.
void Client::plain() {
  const int code = number(256);
  const std::string word = std::to_string(random_());
  const std::string id = number(2) == 0 ? "" : new_id();
  if (!id.empty()) records_.add(id, {"completed", code, word + "\n"});
  const auto result = result_of(
      execute({{"cmd", "echo " + word + "; echo err" + word + " >&2; exit " + std::to_string(code)}}, id),
      200);
  expect(result.at("status") == "completed" && result.at("exitCode") == code &&
             result.at("stdout") == word + "\n" && result.at("stderr") == "err" + word + "\n",
         "echo " + word + " and exit " + std::to_string(code), result.dump());
}

/// Children that outlive their shell: the agent is left to reap them.
void Client::plain_orphans() {
  const auto result =
      result_of(execute({{"cmd", "(sleep 0.01 &); (setsid sleep 0.05 >/dev/null 2>&1 &); echo left"}}), 200);
  expect(result.at("exitCode") == 0 && result.at("stdout") == "left\n", "orphans left", result.dump());
}

/// More output than is stored.
void Client::plain_large() {
  const std::string id = new_id();
  records_.add(id, {"completed", 0, std::string(kStored, 'a')});
  const auto result = result_of(execute({{"cmd", "head -c 3000000 /dev/zero | tr '\\0' a"}}, id), 200);
  expect(result.at("truncated") == true && result.at("stdout") == std::string(kStored, 'a'),
         "the first MiB and truncated", result.dump());
}

void Client::stream() {
  const int code = number(256), lines = 1 + number(50);
  const std::string id = number(2) == 0 ? "" : new_id();
  std::string expected, out, end;
  for (int i = 1; i <= lines; ++i) expected += std::to_string(i) + "é\n";
  if (!id.empty()) records_.add(id, {"completed", code, expected});
  const json body{{"cmd", "for ((i = 1; i <= " + std::to_string(lines) +
                              "; ++i)); do echo $i\u00e9; done; exit " + std::to_string(code)},
                  {"stream", true}};
  const auto response = execute(body, id);
  expect(response.status == 200, "a stream", response.head + response.body);
  std::uint64_t last_id = 0;
  SseReader events([&](const SseEvent& event) {
    expect(event.id > last_id && end.empty(), "ids that rise to the end", response.body);
    last_id = event.id;
    if (event.name == "stdout") out += json::parse(event.data).at("data").get<std::string>();
    if (event.name == "exit") end = event.data;
  });
  events.take(response.body);
  expect(out == expected && last_id == expected.size() + 2, "its lines", response.body);
  const auto result = json::parse(end).at("result");
  expect(result.at("exitCode") == code && result.at("stdout") == expected, "its exit", end);
}

void Client::timeout() {
  const std::string id = new_id();
  records_.add(id, {"timeout", kExitTimeout});
  const json body{{"cmd", "sleep 100 & setsid sleep 100 & sleep 100"}, {"timeout_ms", 1 + number(60)}};
  const auto result = result_of(execute(body, id), 200);
  expect(result.at("status") == "timeout" && result.at("exitCode") == kExitTimeout, "a timeout",
         result.dump());
}

/// Leaves a command in the middle: of its stream, or of its plain call.
void Client::leave() {
  const std::string id = new_id();
  records_.add(id, {"cancelled", kExitKilled});
  const bool streamed = number(2) == 0;
  const json body{{"cmd", "sleep 100 & echo running; sleep 100"}, {"stream", streamed}};
  connection_.send(post("/executions", body.dump(), "Roombox-Execution: " + id + "\r\n"));
  if (streamed) {
    bool running = false;
    SseReader events([&](const SseEvent& event) { running |= event.name == "stdout"; });
    expect(connection_.receive_head().status == 200, "a stream", id);
    while (!running) {
      const auto bytes = connection_.receive_body();
      expect(!bytes.empty(), "a stream that goes on", id);
      events.take(bytes);
    }
  } else {  // it must be seen to run: a request may be given up before it was read
    Connection other(port_);
    while (other.exchange(get("/executions/" + id)).status == 404) std::this_thread::yield();
  }
  records_.note_leaving(id);
  connection_ = Connection(port_);
}

void Client::detach_and_kill() {
  const std::string id = new_id();
  records_.add(id, {"cancelled", kExitKilled});
  const auto started = result_of(execute({{"cmd", "sleep 100 & sleep 100"}, {"detach", true}}, id), 202);
  expect(started.at("status") == "running" && started.at("id") == id, "a running one", started.dump());
  const auto killed =
      result_of(connection_.exchange(post("/executions/" + id + "/kill", R"({"signal":"SIGKILL"})")), 200);
  expect(killed.at("status") == "cancelled" && killed.at("exitCode") == kExitKilled, "killed", killed.dump());
}

void Client::detach() {
  const std::string id = new_id();
  const int code = number(256);
  records_.add(id, {"completed", code, "done\n"});
  const json body{{"cmd", "sleep 0.02; echo done; exit " + std::to_string(code)}, {"detach", true}};
  const auto started = result_of(execute(body, id), 202);
  expect(started.at("status") == "running", "a running one", started.dump());
}

/// The agent, its clients, and the reader of its records.
class Soak {
 public:
  explicit Soak(const Options& options);

  /// Whether all answers were right and nothing grew.
  bool run();

 private:
  void run_interval(int count);
  Census settle();
  void print(int executed, const Census& census) const;
  bool has_grown(const Census& before, const Census& after) const;
  void note(const std::string& failure);

  const Options options_;
  const uid_t user_;
  OwnCgroup cgroup_;
  ServerProcess agent_;
  Expectations expectations_;
  std::mutex mutex_;
  std::string failure_;  ///< The first.
  std::atomic<bool> failed_ = false;
  RecordsReader records_;
  std::vector<std::unique_ptr<Client>> clients_;
  const Clock::time_point began_ = Clock::now();
};

uid_t uid_of(const std::string& user) {
  const passwd* account = ::getpwnam(user.c_str());
  if (!account) fail("no account is named " + user);
  return account->pw_uid;
}

Soak::Soak(const Options& options)
    : options_(options),
      user_(uid_of(options.user)),
      agent_(agent_command(options.agent, options.user)),
      records_(agent_.port(), expectations_, [this](const std::string& failure) { note(failure); }) {
  for (int i = 0; i < options.connections; ++i)
    clients_.push_back(std::make_unique<Client>(agent_.port(), expectations_, 1 + i));
}

void Soak::note(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  if (!failed_.exchange(true)) failure_ = failure;
}

void Soak::run_interval(int count) {
  std::atomic<int> left = count;
  std::vector<std::thread> threads;
  for (auto& client : clients_) {
    threads.emplace_back([&] {
      try {
        while (!failed_ && left.fetch_sub(1) > 0) client->run_one();
      } catch (const std::exception& failure) {
        note(failure.what());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (failed_) fail(failure_);
  expectations_.await_all(kPatience);
}

/// The census once nothing of the executions runs any more, or when that should long have been so.
Census Soak::settle() {
  const auto patience = Clock::now() + std::chrono::seconds(5);
  for (;;) {
    const Census census = take_census(agent_.pid(), user_, cgroup_);
    if ((census.strays == 0 && census.zombies == 0) || Clock::now() > patience) return census;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // strangers' ends: not to be awaited
  }
}

void Soak::print(int executed, const Census& census) const {
  const double time = std::chrono::duration<double>(Clock::now() - began_).count();
  std::printf("%10d %7.0f %7ld %7ld %6ld %7ld %7ld %6ld %7ld %12ld\n", executed, time, census.resident_kib,
              census.peak_kib, census.descriptors, census.threads, census.zombies, census.strays,
              census.cgroups, static_cast<long>(expectations_.slowest_leaving().count()));
  std::fflush(stdout);
}

bool Soak::has_grown(const Census& before, const Census& after) const {
  struct Bound {
    const char* what;
    long value, most;
  };
  // An empty cgroup that is kept for the next execution has two.
  const auto other_descriptors = [](const Census& census) { return census.descriptors - 2 * census.cgroups; };
  const Bound bounds[] = {
      {"resident KiB", after.resident_kib, before.resident_kib + options_.growth_kib},
      {"descriptors beside those of cgroups", other_descriptors(after), other_descriptors(before)},
      {"threads", after.threads, before.threads},
      {"zombies", after.zombies, 0},
      {"stray processes", after.strays, 0},
      {"cgroups", after.cgroups, static_cast<long>(roombox::limits::kSpareCgroups)},
  };
  bool grown = false;
  for (const auto& bound : bounds) {
    if (bound.value <= bound.most) continue;
    std::printf("GREW: %s: %ld, at most %ld\n", bound.what, bound.value, bound.most);
    grown = true;
  }
  return grown;
}

bool Soak::run() {
  std::printf("%10s %7s %7s %7s %6s %7s %7s %6s %7s %12s\n", "executions", "seconds", "RSS KiB", "peak",
              "files", "threads", "zombies", "strays", "cgroups", "leaving, ms");
  print(0, settle());
  // By then it has met each kind at its worst, and the allocator has what it keeps.
  const int warm = std::max(1, options_.intervals / 5);
  std::optional<Census> first;
  bool grown = false;
  for (int done = 0, interval = 1; interval <= options_.intervals; ++interval) {
    const int upto =
        static_cast<int>(static_cast<long long>(options_.executions) * interval / options_.intervals);
    run_interval(upto - done);
    done = upto;
    const Census census = settle();
    print(done, census);
    if (interval == warm) first = census;
    if (first) grown = has_grown(*first, census);
  }
  return !grown;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App cli("Runs very many executions and watches whether anything accumulates.", "agent_soak");
  cli.add_option("agent", options.agent, "Path of roombox-agent")->required()->check(CLI::ExistingFile);
  cli.add_option("--executions", options.executions, "How many")->capture_default_str();
  cli.add_option("--connections", options.connections, "How many at once")->capture_default_str();
  cli.add_option("--intervals", options.intervals, "How often to look at what is there")
      ->capture_default_str();
  cli.add_option("--growth", options.growth_kib, "KiB that the agent may grow after a fifth of them")
      ->capture_default_str();
  cli.add_option("--user", options.user, "The account that commands run as; it must have no other processes")
      ->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  try {
    const bool flat = Soak(options).run();
    std::puts(flat ? "Every answer was right, and nothing grew."
                   : "Every answer was right, but something grew.");
    return flat ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "agent_soak: %s\n", failure.what());
    return 1;
  }
}
