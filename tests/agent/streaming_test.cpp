#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/agent/agent_process.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/record.h"

// Streams, detached commands, their input, signals and records, as a caller of the agent sees them. Numbers
// in comments are of inputs that broke others.

namespace roombox {
namespace {

using nlohmann::json;
using testing::ElementsAre;

struct Event {
  std::string name;
  std::uint64_t id = 0;
  json data;
};

/// The events of a text/event-stream, read as the HTML standard has it; comments are left out.
std::vector<Event> events_of(const std::string& text) {
  std::vector<Event> events;
  Event event;
  bool any = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      if (any) events.push_back(std::exchange(event, {}));
      any = false;
    } else if (line.starts_with("event: ")) {
      event.name = line.substr(7);
    } else if (line.starts_with("id: ")) {
      event.id = std::stoull(line.substr(4));
    } else if (line.starts_with("data: ")) {
      event.data = json::parse(line.substr(6));
      any = true;
    } else {
      EXPECT_THAT(line, StartsWith(":"));
    }
  }
  EXPECT_FALSE(any) << "an event without its end";
  return events;
}

std::string text_of(const std::vector<Event>& events, std::string_view stream) {
  std::string text;
  for (const auto& event : events) {
    if (event.name == stream) text += event.data.at("data").get<std::string>();
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<Event>& events) {
  std::vector<std::string> names;
  for (const auto& event : events) {
    if (names.empty() || names.back() != event.name) names.push_back(event.name);
  }
  return names;
}

/// A frame of the records feed, copied out of it.
struct FedRecord {
  std::string id, status, head, output;
};

/// Those that are whole.
std::vector<FedRecord> frames_of(std::string_view text) {
  std::vector<FedRecord> records;
  for (Frame frame; take_frame(text, frame) == FrameState::Whole;) {
    records.push_back({std::string(frame.id), std::string(frame.status), std::string(frame.head),
                       std::string(frame.output)});
  }
  return records;
}

class StreamingTest : public AgentTest {
 protected:
  static std::string get(const std::string& path, std::string_view headers = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: sandbox\r\n" + std::string(headers) + "\r\n";
  }
  static std::string post_to(const std::string& path, std::string_view body) {
    return "POST " + path + " HTTP/1.1\r\nHost: sandbox\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
  }
  static std::string named(const std::string& id) { return "Roombox-Execution: " + id + "\r\n"; }

  std::vector<Event> stream(std::string_view body) {
    auto client = connect();
    client.send(post(body));
    EXPECT_THAT(client.receive_head(),
                testing::AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Type: text/event-stream\r\n"),
                               HasSubstr("Cache-Control: no-cache, no-transform\r\n"),
                               HasSubstr("X-Accel-Buffering: no\r\n")));
    return events_of(client.receive_body());
  }

  /// Starts a command that outlives the call, by an id of its own.
  std::string detach(const std::string& command, const std::string& options = "") {
    const std::string id = "exec_" + std::to_string(++count_);
    const auto response =
        call(post("{\"cmd\":" + json(command).dump() + ",\"detach\":true" + options + "}", named(id)));
    EXPECT_THAT(response, StartsWith("HTTP/1.1 202 "));
    EXPECT_THAT(response, HasSubstr(R"("status":"running")"));
    return id;
  }

  /// The frame of an execution once it has ended, by the feed.
  FedRecord ended(const std::string& id) {
    auto client = connect();
    client.send(get("/records"));
    client.receive_head();
    std::string all;
    for (;;) {
      const auto chunk = client.receive_chunk();
      EXPECT_TRUE(chunk && !chunk->empty()) << "the feed ended before " << id;
      if (!chunk || chunk->empty()) return {};
      all += *chunk;
      for (const auto& frame : frames_of(all)) {
        if (frame.id == id) return frame;
      }
    }
  }

  long resident_kib() const {
    const auto status = proc("status");
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  }

 private:
  int count_ = 0;
};

TEST_F(StreamingTest, TellsStartOutputAndExit) {
  const auto events = stream(R"({"cmd":"echo out; sleep 0.05; echo err >&2; exit 3","stream":true})");
  EXPECT_THAT(names_of(events), ElementsAre("start", "stdout", "stderr", "exit"));
  EXPECT_THAT(events.at(0).data.at("id").get<std::string>(), StartsWith("exec_"));
  EXPECT_EQ(events.at(0).data.at("sandboxName"), "sandbox-r1");
  EXPECT_EQ(text_of(events, "stdout"), "out\n");
  EXPECT_EQ(text_of(events, "stderr"), "err\n");
  const auto& result = events.back().data.at("result");
  EXPECT_EQ(result.at("exitCode"), 3);
  EXPECT_EQ(result.at("stdout"), "out\n");
  EXPECT_EQ(result.at("id"), events.at(0).data.at("id"));
  std::vector<std::uint64_t> ids;
  for (const auto& event : events) ids.push_back(event.id);
  EXPECT_THAT(ids, ElementsAre(1, 5, 9, 10));
}

TEST_F(StreamingTest, TellsOutputAsItComes) {
  auto client = connect();
  client.send(post(R"({"cmd":"echo first; sleep 60","stream":true})"));
  client.receive_head();
  EXPECT_THAT(client.receive_until("first"), HasSubstr(R"({"data":"first\n"})"));
}

TEST_F(StreamingTest, RefusesBeforeItStreams) {
  EXPECT_THAT(call(post(R"({"cmd":"true","stream":true,"cwd":"/nowhere"})", named("exec_1"))),
              testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("Roombox-Execution: exec_1\r\n"),
                             HasSubstr("Cannot enter /nowhere")));
  EXPECT_THAT(call(post(R"({"cmd":"true","detach":true,"cwd":"/nowhere"})")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(call(post(R"({"cmd":"","stream":true})", named("exec_2"))),
              testing::AllOf(StartsWith("HTTP/1.1 400 "), testing::Not(HasSubstr("Roombox-Execution"))));
  EXPECT_EQ(ended("exec_1").status, "failed");
}

TEST_F(StreamingTest, LosesNoByte) {
  for (int i = 0; i < 20; ++i) {
    const auto events = stream(R"({"cmd":"seq 1 20000","stream":true})");
    std::string expected;
    for (int n = 1; n <= 20000; ++n) expected += std::to_string(n) + "\n";
    EXPECT_TRUE(text_of(events, "stdout") == expected);
    EXPECT_EQ(events.back().name, "exit");
  }
}

TEST_F(StreamingTest, GoesOnPastWhatIsStored) {
  const auto events = stream(R"({"cmd":"seq 1 400000","stream":true})");
  EXPECT_EQ(text_of(events, "stdout").size(), 2'688'895u);
  const auto& result = events.back().data.at("result");
  EXPECT_EQ(result.at("truncated"), true);
  EXPECT_EQ(result.at("stdout").get<std::string>().size(), limits::kStoredOutput);
}

TEST_F(StreamingTest, NeverSplitsACharacter) {  // 26, 27
  const auto events = stream(
      R"({"cmd":"head -c 8190 /dev/zero | tr '\\0' x; for i in $(seq 5000); do printf 'é'; done","stream":true})");
  EXPECT_EQ(text_of(events, "stdout").find("\uFFFD"), std::string::npos);
  EXPECT_EQ(text_of(events, "stdout").size(), 8190u + 10000u);
  const auto slow =
      stream(R"({"cmd":"printf '\\303'; echo between >&2; sleep 0.1; printf '\\251'","stream":true})");
  EXPECT_EQ(text_of(slow, "stdout"), "é");
  EXPECT_EQ(text_of(slow, "stderr"), "between\n");
}

TEST_F(StreamingTest, TellsBytesAsTheyAreInBase64) {
  const auto events = stream(R"({"cmd":"printf '\\377\\0\\303'","stream":true,"encoding":"base64"})");
  EXPECT_EQ(text_of(events, "stdout"), "/wDD");
  EXPECT_EQ(events.back().data.at("result").at("stdout"), "/wDD");
}

TEST_F(StreamingTest, PingsWhileThereIsNothingToTell) {
  auto client = connect();
  client.send(post(R"({"cmd":"sleep 60","stream":true})"));
  client.receive_head();
  EXPECT_THAT(client.receive_until(": ping\n\n"), HasSubstr("event: start"));
}

TEST_F(StreamingTest, EndsWithAnExitAfterATimeout) {
  const auto events = stream(R"({"cmd":"echo before; sleep 60","stream":true,"timeout_ms":300})");
  EXPECT_THAT(names_of(events), ElementsAre("start", "stdout", "exit"));
  EXPECT_EQ(events.back().data.at("result").at("status"), "timeout");
}

TEST_F(StreamingTest, ServesTheNextRequestOfTheConnection) {
  auto client = connect();
  client.send(post(R"({"cmd":"echo streamed","stream":true})") + post(R"({"cmd":"echo plain"})"));
  client.receive_head();
  EXPECT_THAT(client.receive_body(), HasSubstr("streamed"));
  EXPECT_THAT(client.receive(), HasSubstr("plain"));
}

TEST_F(StreamingTest, CancelsWhenItsClientLeaves) {  // 19
  {
    auto client = connect();
    client.send(
        post(R"({"cmd":"setsid sleep 98763 & echo begun; sleep 98763","stream":true})", named("exec_1")));
    client.receive_head();
    client.receive_until("begun");
  }
  const auto left = Clock::now();
  EXPECT_EQ(ended("exec_1").status, "cancelled");
  EXPECT_LT(Clock::now() - left, 1s);
  EXPECT_THAT(call(post(R"({"cmd":"pgrep -c -x -f 'sleep 98763'"})")), HasSubstr(R"("stdout":"0\n")"));
}

TEST_F(StreamingTest, HoldsACommandBackForASlowReader) {
  const long before = resident_kib();
  auto client = connect();
  const int small = 64 << 10;
  ::setsockopt(client.descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  client.send(
      post(R"({"cmd":"yes | head -c 40000000 | tee >(wc -c >counted) ; cat counted >&2","stream":true})"));
  client.receive_head();
  ASSERT_TRUE(client.receive_chunk());
  // While the reader rests, so does the command; others go on.
  EXPECT_THAT(call(post(R"({"cmd":"sleep 0.3; cat /proc/$(pgrep -n yes)/wchan"})")), HasSubstr("pipe"));
  EXPECT_LT(resident_kib(), before + kSlackKib);
  std::size_t newlines = 0;
  for (auto chunk = client.receive_chunk(); chunk && !chunk->empty(); chunk = client.receive_chunk())
    newlines += static_cast<std::size_t>(std::count(chunk->begin(), chunk->end(), '\n'));
  EXPECT_GT(newlines, 0u);
  EXPECT_LT(resident_kib(), before + kSlackKib);
}

TEST_F(StreamingTest, OutlivesItsCallDetached) {
  const auto id = detach("echo begun; sleep 0.3; echo done");
  const auto frame = ended(id);
  EXPECT_EQ(frame.status, "completed");
  EXPECT_THAT(frame.output, HasSubstr("begun\ndone\n"));
}

TEST_F(StreamingTest, HasNoTimeoutDetachedUnlessGiven) {
  EXPECT_EQ(ended(detach("sleep 60", R"(,"timeout_ms":100)")).status, "timeout");
}

TEST_F(StreamingTest, FeedsASmallCommandItsInput) {
  EXPECT_THAT(call(post(R"({"cmd":"cat; echo end","stdin":"é\nb"})")), HasSubstr(R"("stdout":"é\nbend\n")"));
  EXPECT_THAT(call(post(R"({"cmd":"cat","stdin":""})")), HasSubstr(R"("stdout":"")"));
  const std::string large(1'000'000, 'x');
  EXPECT_THAT(call(post(R"({"cmd":"sleep 0.1; wc -c","stdin":")" + large + "\"}")),
              HasSubstr(R"("stdout":"1000000\n")"));
  EXPECT_THAT(call(post(R"({"cmd":"exit 4","stdin":")" + large + "\"}")), HasSubstr(R"("exitCode":4)"));
}

TEST_F(StreamingTest, TakesInputOfADetachedCommand) {  // 45, 46
  const auto id = detach("wc -c");
  const auto path = "/executions/" + id + "/stdin";
  EXPECT_THAT(call(post_to(path, std::string("a\0b", 3))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(call(post_to(path + "?eof=true", "cd")), HasSubstr(R"({"bytes":2})"));
  EXPECT_THAT(ended(id).output, HasSubstr("5\n"));
  EXPECT_THAT(call(post_to(path, "x")), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("ended")));
}

TEST_F(StreamingTest, RefusesInputThatNobodyReads) {
  const auto id = detach("exec <&-; echo closed; sleep 60");
  const auto path = "/executions/" + id + "/stdin";
  auto client = connect();
  client.send(get("/executions/" + id + "/events"));
  client.receive_head();
  client.receive_until("closed");
  EXPECT_THAT(call(post_to(path, "x")), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(call(post_to("/executions/" + detach("sleep 60", R"(,"stdin":"")") + "/stdin", "x")),
              StartsWith("HTTP/1.1 409 "));
}

TEST_F(StreamingTest, AnswersInputOnceItIsTaken) {
  const auto id = detach("read x; echo $x; head -c 1000000 >/dev/null; echo read; sleep 60");
  const auto path = "/executions/" + id + "/stdin";
  auto client = connect();
  client.send(post_to(path, "line\n" + std::string(1'000'000, 'x')));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 200 "));
  const auto stuck = detach("sleep 60");
  auto waiting = connect();
  waiting.send(post_to("/executions/" + stuck + "/stdin", std::string(1'000'000, 'x')));
  for (int i = 0; i < 2; ++i) {  // who is refused may come again, with the end of the input too
    EXPECT_THAT(call(post_to("/executions/" + stuck + "/stdin?eof=true", std::string(4'000'000, 'x'))),
                StartsWith("HTTP/1.1 429 "));
  }
  call(post_to("/executions/" + stuck + "/kill", ""));
  EXPECT_THAT(waiting.receive(), StartsWith("HTTP/1.1 409 "));
}

TEST_F(StreamingTest, KillsBeforeItAnswers) {  // 15
  const auto id = detach("setsid sleep 98762 & sleep 98762");
  const auto response = call(post_to("/executions/" + id + "/kill", ""));
  EXPECT_THAT(response, testing::AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr(R"("status":"cancelled")"),
                                       HasSubstr(R"("signal":"SIGKILL")")));
  EXPECT_THAT(call(post(R"({"cmd":"pgrep -c -x -f 'sleep 98762'"})")), HasSubstr(R"("stdout":"0\n")"));
  EXPECT_THAT(call(post_to("/executions/" + id + "/kill", "")), StartsWith("HTTP/1.1 409 "));
}

TEST_F(StreamingTest, SendsAnySignalToTheWholeTree) {
  const auto id = detach("trap 'echo usr1' USR1; echo ready; while :; do sleep 0.1; done");
  auto client = connect();
  client.send(get("/executions/" + id + "/events"));
  client.receive_head();
  client.receive_until("ready");
  EXPECT_THAT(call(post_to("/executions/" + id + "/kill", R"({"signal":"SIGUSR1"})")),
              HasSubstr(R"("status":"running")"));
  EXPECT_THAT(client.receive_until("usr1"), HasSubstr("usr1"));
  call(post_to("/executions/" + id + "/kill", R"({"signal":15})"));
  const auto frame = ended(id);
  EXPECT_EQ(frame.status, "cancelled");
  EXPECT_THAT(frame.head, HasSubstr("SIGTERM"));
}

TEST_F(StreamingTest, ShowsARunningExecutionWithItsOutputSoFar) {
  const auto id = detach("echo so far; sleep 60");
  for (;;) {
    const auto response = call(get("/executions/" + id));
    ASSERT_THAT(response, HasSubstr(id + " running "));
    if (response.find("so far\n", response.find("stdout")) != response.npos) break;
  }
  EXPECT_THAT(call(get("/executions/exec_unknown")), StartsWith("HTTP/1.1 404 "));
}

TEST_F(StreamingTest, AttachesAtAnyTimeAndResumesExactly) {  // 40, 73
  const auto id = detach("for i in $(seq 1 20000); do echo $i; done; echo done >&2");
  const auto whole = [&] {
    auto client = connect();
    client.send(get("/executions/" + id + "/events"));
    client.receive_head();
    return events_of(client.receive_body());
  }();
  std::string expected;
  for (int n = 1; n <= 20000; ++n) expected += std::to_string(n) + "\n";
  EXPECT_TRUE(text_of(whole, "stdout") == expected);
  ASSERT_EQ(whole.back().name, "exit");
  // Now it has ended, and is kept until it is stored: from every place the same.
  for (std::size_t cut = 0; cut + 1 < whole.size(); cut += 1 + whole.size() / 50) {
    auto client = connect();
    client.send(
        get("/executions/" + id + "/events", "Last-Event-ID: " + std::to_string(whole[cut].id) + "\r\n"));
    client.receive_head();
    const auto rest = events_of(client.receive_body());
    std::string before;
    for (std::size_t i = 0; i <= cut; ++i) {
      if (whole[i].name == "stdout") before += whole[i].data.at("data").get<std::string>();
    }
    EXPECT_TRUE(before + text_of(rest, "stdout") == expected) << cut;
    EXPECT_EQ(rest.back().name, "exit");
    EXPECT_NE(rest.front().name, "start");
  }
  const auto last = "Last-Event-ID: " + std::to_string(whole.back().id) + "\r\n";
  EXPECT_EQ(call(get("/executions/" + id + "/events", last)),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST_F(StreamingTest, GivesEachOfManyReadersEveryLineOnce) {  // 40
  const auto id = detach("seq 1 100000");
  std::vector<Client> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(connect());
    clients.back().send(get("/executions/" + id + "/events"));
  }
  for (auto& client : clients) {
    EXPECT_THAT(client.receive_head(), StartsWith("HTTP/1.1 200 "));
    const auto events = events_of(client.receive_body());
    EXPECT_EQ(text_of(events, "stdout").size(), 588'895u);
    EXPECT_EQ(events.back().name, "exit");
  }
}

TEST_F(StreamingTest, DropsAReaderThatFallsBehind) {
  const auto id = detach("echo begin; read x; seq 1 3000000; echo done >&2; read y");
  auto slow = connect();
  const int small = 64 << 10;
  ::setsockopt(slow.descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  slow.send(get("/executions/" + id + "/events"));
  slow.receive_head();
  slow.receive_until("begin");
  call(post_to("/executions/" + id + "/stdin", "\n"));
  while (call(get("/executions/" + id)).find("done\n") == std::string::npos) {
  }
  std::string last;
  std::optional<std::string> chunk;
  while ((chunk = slow.receive_chunk()) && !chunk->empty()) last = *chunk;
  EXPECT_FALSE(chunk) << "it ended as if that were all";
  EXPECT_EQ(last.find("done"), last.npos);
  // What it had is no longer followed by what is kept.
  EXPECT_THAT(call(get("/executions/" + id + "/events", "Last-Event-ID: 7\r\n")),
              StartsWith("HTTP/1.1 410 "));
}

TEST_F(StreamingTest, FeedsEachRecordUntilItIsStored) {
  const auto first = detach("echo first"), second = detach("exit 5");
  EXPECT_EQ(ended(first).status, "completed");
  EXPECT_EQ(ended(second).status, "completed");
  EXPECT_EQ(ended(first).output, ended(first).output) << "it is told again";
  EXPECT_THAT(call(post_to("/records/stored", first + "\n" + second)), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(call(get("/executions/" + first)), StartsWith("HTTP/1.1 404 "));
  const auto third = detach("true");
  auto client = connect();
  client.send(get("/records"));
  client.receive_head();
  const auto frames = frames_of(client.receive_until(third));
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames.at(0).id, third);
}

TEST_F(StreamingTest, ReplacesAnEarlierFeedAndEndsAnIdleOne) {
  auto earlier = connect();
  earlier.send(get("/records"));
  EXPECT_THAT(earlier.receive_head(), StartsWith("HTTP/1.1 200 "));
  auto later = connect();
  later.send(get("/records"));
  later.receive_head();
  EXPECT_EQ(earlier.receive_body(), "");
  EXPECT_EQ(later.receive_body(), "") << "it ends when there is nothing to tell for a while";
}

TEST_F(StreamingTest, RecordsWhatItsCallerLeft) {
  {
    auto client = connect();
    client.send(post(R"({"cmd":"echo begun; sleep 60"})", named("exec_left")));
    while (call(get("/executions/exec_left")).find("begun\n", 200) == std::string::npos) {
    }
  }
  EXPECT_EQ(ended("exec_left").status, "cancelled");
}

TEST_F(StreamingTest, StaysSmallWhateverIsPrintedToNobody) {  // 42
  detach("yes", R"(,"timeout_ms":500)");
  ended("exec_1");
  call(post_to("/records/stored", "exec_1"));
  const long before = resident_kib();
  const auto id = detach("yes", R"(,"timeout_ms":3000)");
  long peak = 0;
  while (call(get("/executions/" + id)).find(" running ") != std::string::npos)
    peak = std::max(peak, resident_kib());
  EXPECT_LT(peak, before + kSlackKib);
}

TEST_F(StreamingTest, ReadsNoBodyOfAStranger) {
  stop(SIGKILL);
  start("secret");
  auto client = connect();
  client.send("POST /executions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 401 "));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(StreamingTest, AnswersAClientThatWaitsToBeAskedForItsBody) {
  auto client = connect();
  client.send("POST /executions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 16\r\n\r\n");
  EXPECT_EQ(client.receive_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(R"({"cmd":"echo a"})");
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"a\n")"));
}

}  // namespace
}  // namespace roombox
