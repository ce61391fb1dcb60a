#include <cmath>
#include <map>
#include <regex>
#include <sstream>

#include "tests/agent/agent_process.h"

namespace roombox {
namespace {

/// Samples by name and labels, as they are written.
using Samples = std::map<std::string, double>;

/// Takes the text as strictly as its format (0.0.4) is written down: each metric once, help and type before
/// its samples, every sample of the metric that it stands under, and names of what they are.
class MetricsReader {
 public:
  explicit MetricsReader(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    for (const auto& [name, type] : types_) {
      EXPECT_GT(sampled_[name], 0) << name;
      EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
      if (type == "histogram") check_histogram(name);
    }
  }

  const Samples& samples() const { return samples_; }

 private:
  void read(const std::string& line) {
    static const std::regex kHelp("# HELP ([a-z_]+) [A-Z][^\\\\]*\\."),
        kType("# TYPE ([a-z_]+) (counter|gauge|histogram)"),
        kSample(R"(([a-z_]+)((\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})?) ([0-9.e+-]+))");
    std::smatch parts;
    if (std::regex_match(line, parts, kHelp)) {
      name_ = parts[1];
      EXPECT_TRUE(types_.emplace(name_, "").second) << "a second time: " << line;
    } else if (std::regex_match(line, parts, kType)) {
      EXPECT_EQ(parts[1], name_);
      types_[name_] = parts[2];
    } else if (std::regex_match(line, parts, kSample)) {
      std::string name = parts[1];
      if (types_[name_] == "histogram")
        name = std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
      EXPECT_EQ(name, name_);
      ++sampled_[name];
      EXPECT_TRUE(samples_.emplace(parts[1].str() + parts[2].str(), std::stod(parts[6])).second) << line;
    } else {
      ADD_FAILURE() << "is nothing: " << line;
    }
  }

  void check_histogram(const std::string& name) {
    std::map<double, double> buckets;
    for (const auto& [sample, value] : samples_) {
      const std::string begin = name + "_bucket{le=\"";
      if (sample.starts_with(begin)) buckets[std::stod(sample.substr(begin.size()))] = value;
    }
    double before = 0;
    for (const auto& [bound, count] : buckets) {
      EXPECT_GE(count, before) << name << " up to " << bound;
      before = count;
    }
    ASSERT_FALSE(buckets.empty());
    EXPECT_TRUE(std::isinf(buckets.rbegin()->first));
    EXPECT_EQ(before, samples_[name + "_count"]);
    EXPECT_TRUE(samples_.contains(name + "_sum"));
  }

  std::string name_;
  std::map<std::string, std::string> types_;
  std::map<std::string, int> sampled_;
  Samples samples_;
};

class MetricsTest : public AgentTest {
 protected:
  static constexpr char kAsk[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

  Samples metrics() const {
    const auto answer = call(kAsk);
    EXPECT_THAT(answer, testing::AllOf(StartsWith("HTTP/1.1 200 "),
                                       HasSubstr("Content-Type: text/plain; version=0.0.4\r\n")));
    return MetricsReader(answer.substr(answer.find("\r\n\r\n") + 4)).samples();
  }

  /// Waits until a metric has a value; what it has then.
  double await(const std::string& name, double value) const {
    const auto deadline = Clock::now() + 10s;
    for (;;) {
      const double now = metrics().at(name);
      if (now == value || Clock::now() > deadline) return now;
    }
  }
};

TEST_F(MetricsTest, AreReadyBeforeAnythingHasHappened) {
  stop(SIGKILL);
  boot_id_ = "a\\\"b";
  start("");
  const auto first = metrics();
  EXPECT_EQ(first.at(R"(roombox_build_info{version=")" ROOMBOX_VERSION R"(",boot_id="a\\\"b"})"), 1);
  EXPECT_EQ(first.at("roombox_executions_started_total"), 0);
  EXPECT_EQ(first.at(R"(roombox_executions_ended_total{status="failed"})"), 0);
  EXPECT_EQ(first.at("roombox_http_connections"), 1);
  EXPECT_GT(first.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(first.at("process_open_fds"), 3);
  EXPECT_LT(first.at("process_open_fds"), 100);
  EXPECT_LT(first.at("roombox_uptime_seconds"), 30);
}

TEST_F(MetricsTest, TellWhatHasHappened) {
  call(post(R"({"cmd":"printf 12345; printf 123 >&2"})"));
  call(post(R"({"cmd":"exit 3"})"));
  call(post(R"({"cmd":"sleep 9 & sleep 9","timeout_ms":150})"));
  call(post(R"({"cmd":"echo","cwd":"/nowhere"})"));
  call(post(R"({"cmd":""})"));
  const auto now = metrics();
  EXPECT_EQ(now.at("roombox_executions_started_total"), 4);
  EXPECT_EQ(now.at(R"(roombox_executions_ended_total{status="completed"})"), 2);
  EXPECT_EQ(now.at(R"(roombox_executions_ended_total{status="timeout"})"), 1);
  EXPECT_EQ(now.at(R"(roombox_executions_ended_total{status="failed"})"), 1);
  EXPECT_EQ(now.at("roombox_executions_running"), 0);
  EXPECT_EQ(now.at("roombox_execution_duration_seconds_count"), 4);
  EXPECT_GE(now.at("roombox_execution_duration_seconds_sum"), 0.15);
  EXPECT_LE(now.at(R"(roombox_execution_duration_seconds_bucket{le="0.1"})"), 3);
  EXPECT_EQ(now.at(R"(roombox_output_bytes_total{stream="stdout"})"), 5);
  EXPECT_EQ(now.at(R"(roombox_output_bytes_total{stream="stderr"})"), 3);
  EXPECT_EQ(now.at("roombox_tree_death_seconds_count"), 1);
  EXPECT_EQ(now.at("roombox_tree_deaths_overdue_total"), 0);
  EXPECT_EQ(now.at(R"(roombox_http_requests_total{status="2xx"})"), 3);
  EXPECT_EQ(now.at(R"(roombox_http_requests_total{status="4xx"})"), 2);
  const auto later = metrics();
  EXPECT_EQ(later.at(R"(roombox_http_requests_total{status="2xx"})"), 4);
  EXPECT_GE(later.at("process_cpu_seconds_total"), now.at("process_cpu_seconds_total"));
  EXPECT_GT(later.at("roombox_uptime_seconds"), now.at("roombox_uptime_seconds"));
}

TEST_F(MetricsTest, TellWhatGoesOn) {
  call(post(R"({"cmd":"cat; printf end","detach":true})", "Roombox-Execution: exec_1\r\n"));
  auto client = connect();
  client.send(
      "GET /executions/exec_1/attach HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  client.receive_head();
  EXPECT_EQ(await("roombox_attached_clients", 1), 1);
  EXPECT_EQ(await("roombox_http_connections", 2), 2);
  const auto now = metrics();
  EXPECT_EQ(now.at("roombox_executions_running"), 1);
  EXPECT_EQ(now.at(R"(roombox_http_requests_total{status="1xx"})"), 1);
  EXPECT_EQ(now.at("roombox_records_unstored"), 0);
  call("POST /executions/exec_1/stdin?eof=true HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_EQ(await("roombox_records_unstored", 1), 1);
  EXPECT_EQ(metrics().at("roombox_records_unstored_bytes"), 5);
  EXPECT_EQ(metrics().at("roombox_attached_clients"), 0);
  call("POST /records/stored HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\nexec_1\n");
  EXPECT_EQ(metrics().at("roombox_records_unstored"), 0);
  call("GET /ports/1/ HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(metrics().at("roombox_http_requests_relayed_total"), 1);
  EXPECT_EQ(metrics().at(R"(roombox_http_requests_total{status="5xx"})"), 1);
}

TEST_F(MetricsTest, AreForWhoKnowsTheTokenAndNoActivity) {
  stop(SIGKILL);
  start("secret");
  EXPECT_THAT(call(kAsk), StartsWith("HTTP/1.1 401 "));
  const std::string token = "Roombox-Token: secret\r\n";
  auto client = connect();
  client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n" + token + "\r\nGET /activity HTTP/1.1\r\nHost: x\r\n" +
              token + "\r\n");
  EXPECT_THAT(client.receive(), HasSubstr("roombox_uptime_seconds"));
  EXPECT_THAT(client.receive(), testing::EndsWith("\r\n\r\n0"));
}

}  // namespace
}  // namespace roombox
