#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/sse.h"
#include "wasm/protocol/record.h"

namespace roombox::bench {
namespace {

constexpr double kGrowth = 4;  // MiB
/// Of output, which a command that nobody reads gets beyond unless it is held back.
constexpr std::uint64_t kHeldBack = 16u << 20;
constexpr char kId[] = "exec_00000000000000000001";
/// What the slow reader takes, in eight steps a second.
constexpr std::size_t kBytesPerSecond = 64u << 10;
constexpr std::chrono::milliseconds kStep{125};

/// An agent of its own, so that each measurement begins with an idle one.
class Watched {
 public:
  explicit Watched(const Options& options) : agent(agent_command(options.programs.agent)) {
    Connection(agent.port()).exchange(get("/health"));
    idle_ = process_status(agent.pid(), "VmRSS");
    begin_peak(agent.pid());
  }

  void note_running() { running_ = peak(); }

  /// @param load what has gone on in the agent
  void print(const std::string& load) const {
    print_growth(load + ": more at most", running_);
    print_growth(load + ": with end and record", peak());
  }

  const ServerProcess agent;

 private:
  long peak() const { return process_status(agent.pid(), "VmHWM"); }

  void print_growth(const std::string& name, long resident) const {
    const double growth = static_cast<double>(resident - idle_) / 1024;
    bench::print({name, "MiB", Better::Less, "memory", {{kOurs, single(growth)}}, {at_most(kGrowth)}});
  }

  long idle_ = 0, running_ = 0;
};

std::string yes(const Options& options, const char* mode, std::string_view headers = {}) {
  const nlohmann::json body{{"cmd", "yes"}, {mode, true}, {"timeout_ms", 1000 * options.seconds}};
  return post("/executions", body.dump(), headers);
}

Connection::Response start_detached(const ServerProcess& agent, const Options& options) {
  auto response = Connection(agent.port())
                      .exchange(yes(options, "detach", "Roombox-Execution: " + std::string(kId) + "\r\n"));
  if (response.status != 202) fail("not detached: " + response.head + response.body);
  return response;
}

/// A client that takes less of a stream than its command writes.
class SlowReader {
 public:
  SlowReader(const ServerProcess& agent, const Options& options)
      : connection_(agent.port(), kBytesPerSecond), events_([this](const SseEvent& event) {
          if (event.name == "exit") end_ = event.data;
        }) {
    connection_.send(yes(options, "stream"));
    if (const auto head = connection_.receive_head(); head.status != 200) fail("no stream: " + head.head);
  }

  void read_slowly(Clock::time_point until) {
    for (auto next = Clock::now() + kStep; Clock::now() < until; next += kStep) {
      for (std::size_t left = kBytesPerSecond / 8; left > 0;) {
        const auto bytes = connection_.receive_body(left);
        if (bytes.empty()) fail("yes ended early: " + end_.substr(0, 200));
        events_.take(bytes);
        left -= bytes.size();
      }
      std::this_thread::sleep_until(next);  // the pace itself
    }
  }

  /// Reads the rest as it comes; throws unless the end is that of a timeout.
  void read_to_end() {
    for (auto bytes = connection_.receive_body(); !bytes.empty(); bytes = connection_.receive_body())
      events_.take(bytes);
    const auto result = nlohmann::json::parse(end_).at("result");
    if (result.at("status") != "timeout" || result.at("exitCode") != 124) fail("not a timeout: " + end_);
  }

 private:
  Connection connection_;
  std::string end_;
  SseReader events_;
};

/// Waits for the record, which the agent gives once the execution has ended.
void await_record(const ServerProcess& agent) {
  Connection feed(agent.port());
  feed.send(get("/records"));
  feed.receive_head();
  std::string buffer;
  Frame frame;
  for (std::string_view rest; take_frame(rest, frame) != FrameState::Whole; rest = buffer) {
    const auto bytes = feed.receive_body();
    if (bytes.empty()) fail("the records ended without the one");
    buffer += bytes;
  }
  Record record;
  record.read(frame.head);
  if (frame.id != kId || frame.status != "timeout" || record.view().exit_code != 124)
    fail("not the record of a timeout: " + buffer.substr(0, 200));
  if (record.view().total < kHeldBack) fail("the command was held back with nobody attached");
}

}  // namespace

void bench_memory(const Options& options) {
  Watched streamed(options), detached(options);
  const auto almost = Clock::now() + std::chrono::seconds(options.seconds) - kStep;
  start_detached(detached.agent, options);
  SlowReader reader(streamed.agent, options);
  reader.read_slowly(almost);
  streamed.note_running();
  detached.note_running();
  reader.read_to_end();
  await_record(detached.agent);
  const std::string command = "yes, " + std::to_string(options.seconds) + " s, ";
  streamed.print(command + "read slowly");
  detached.print(command + "detached");
}

}  // namespace roombox::bench
