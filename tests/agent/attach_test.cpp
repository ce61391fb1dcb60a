#include <netinet/tcp.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/agent/agent_process.h"
#include "tests/agent/attached.h"

namespace roombox {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string join(const std::vector<Attached::Message>& messages, const std::string& kind) {
  std::string all;
  for (const auto& message : messages) {
    if (message.kind == kind) all += message.payload;
  }
  return all;
}

std::vector<std::string> kinds(const std::vector<Attached::Message>& messages) {
  std::vector<std::string> names;
  for (const auto& message : messages) {
    if (names.empty() || names.back() != message.kind) names.push_back(message.kind);
  }
  return names;
}

std::string numbers(int upto, const std::string& ending = "\n") {
  std::string lines;
  for (int i = 1; i <= upto; ++i) lines += std::to_string(i) + ending;
  return lines;
}

const std::string kExit0("\0\0\0\0", 4);

class AttachTest : public AgentTest {
 protected:
  std::string detach(const std::string& command, json options = json::object()) {
    const std::string id = "exec_" + std::to_string(++count_);
    options["cmd"] = command;
    if (!options.contains("pty")) options["detach"] = true;
    const auto response = call(post(options.dump(), "Roombox-Execution: " + id + "\r\n"));
    EXPECT_THAT(response, StartsWith("HTTP/1.1 202 "));
    return id;
  }
  std::string terminal(const std::string& command, json size = {{"cols", 80}, {"rows", 24}}) {
    return detach(command, {{"pty", std::move(size)}});
  }
  Attached attach(const std::string& id, const AttachRequest& request = {}) const {
    return Attached(port_, id, request);
  }
  /// An ended execution's status, awaited by the feed of records.
  std::string awaited_status(const std::string& id) {
    auto client = connect();
    client.send("GET /records HTTP/1.1\r\nHost: sandbox\r\n\r\n");
    client.receive_head();
    const auto text = client.receive_until(id + " ");
    const auto at = text.find(id + " ") + id.size() + 1;
    return text.substr(at, text.find(' ', at) - at);
  }

 private:
  int count_ = 0;
};

TEST_F(AttachTest, GetsTheReplayThenWhatComesThenTheExit) {
  const auto id = detach("echo past; echo err >&2; read -r line; echo got $line; exit 3");
  {
    auto first = attach(id);
    EXPECT_EQ(first.read_until("past\n"), "past\n");
  }
  auto client = attach(id);
  const auto start = client.read();
  EXPECT_EQ(start.kind, "text");
  EXPECT_EQ(json::parse(start.payload),
            json({{"type", "start"}, {"id", id}, {"sandboxName", "sandbox-r1"}, {"sequence", 1}}));
  client.type("now\n");
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "1"), "past\ngot now\n");
  EXPECT_EQ(join(messages, "2"), "err\n");
  EXPECT_EQ(join(messages, "3"), std::string("\0\0\0\3", 4));
  EXPECT_EQ(messages.back().payload, "1000");
  const auto names = kinds(messages);
  EXPECT_EQ(std::count(names.begin(), names.end(), "4"), 1);
  EXPECT_THAT(names, testing::Contains("4"));
  EXPECT_EQ(names.at(names.size() - 2), "3");
}

TEST_F(AttachTest, ToldInTheOtherDialectSendsNoText) {
  auto client = attach(detach("sleep 0.2; echo hi"), {.dialect = "v1"});
  const auto messages = client.read_all();
  EXPECT_THAT(kinds(messages), ElementsAre("4", "1", "3", "close"));
}

TEST_F(AttachTest, SeesEveryLineOnceWheneverItComes) {  // 40
  const auto id = detach(
      "for i in {0..99}; do seq $((i * 1000 + 1)) $((i * 1000 + 1000)); read -t 0.01 <> <(:); done; true");
  const std::string expected = numbers(100'000);
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));  // the moment itself
      auto client = attach(id);
      const auto messages = client.read_all();
      right +=
          join(messages, "1") == expected && join(messages, "3") == kExit0 && join(messages, "4").empty();
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, 100);
}

TEST_F(AttachTest, GoesOnExactlyWhereItWas) {
  const auto id = detach(
      "for i in {0..99}; do seq $((i * 1000 + 1)) $((i * 1000 + 1000)); read -t 0.01 <> <(:); done; true");
  std::mt19937 random(7);
  std::string all;
  for (bool ended = false; !ended;) {
    auto client = attach(id, {.after = std::to_string(1 + all.size())});
    ASSERT_EQ(client.status, 101u);
    for (auto messages = 1 + random() % 40; messages > 0; --messages) {
      const auto message = client.read();
      if (message.kind == "1") all += message.payload;
      ended = message.kind == "close";
      if (ended) break;
    }
    client.drop();
  }
  EXPECT_EQ(all, numbers(100'000));
}

TEST_F(AttachTest, MissesNothingIfItSaidThatItWouldCome) {
  const std::string id = "exec_awaited";
  call(post(R"({"cmd":"seq 1 400000","detach":true})",
            "Roombox-Execution: " + id + "\r\nRoombox-Next: attach\r\n"));
  std::this_thread::sleep_for(300ms);  // the time in which it would have written all of it
  const auto messages = attach(id).read_all();
  EXPECT_TRUE(join(messages, "1") == numbers(400'000));
  EXPECT_EQ(join(messages, "3"), kExit0);
}

TEST_F(AttachTest, ThatDoesNotReadIsDroppedAlone) {
  const auto id = detach("read -r; head -c 30000000 /dev/zero | tr '\\0' a; echo done");
  auto idle = attach(id), reading = attach(id);
  idle.read();  // it is there
  reading.type("\n");
  const auto messages = reading.read_all();
  EXPECT_EQ(join(messages, "1").size(), 30'000'005u);
  EXPECT_EQ(join(messages, "3"), kExit0);
  const auto late = idle.read_all();
  EXPECT_EQ(late.back().payload, "1013");
  EXPECT_LT(join(late, "1").size(), 30'000'000u);
  EXPECT_THAT(kinds(late), testing::Not(testing::Contains("3")));
}

TEST_F(AttachTest, IsToldThatWhatItWantsIsGone) {
  const auto id = detach("head -c 3000000 /dev/zero | tr '\\0' a; echo; read -r");
  auto first = attach(id);
  first.read_until("\n");
  EXPECT_EQ(attach(id, {.after = "5"}).status, 410u);
  EXPECT_EQ(attach(id, {.after = "99999999"}).status, 410u);
  auto fresh = attach(id);
  EXPECT_EQ(json::parse(fresh.read().payload).at("sequence"), 3'000'001 - (1 << 20) + 1);
  EXPECT_EQ(attach("exec_none").status, 404u);
  EXPECT_THAT(call("GET /executions/" + id + "/attach HTTP/1.1\r\nHost: sandbox\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST_F(AttachTest, WritesInputAndEndsIt) {
  auto client = attach(detach("wc -c"));
  client.type(std::string(100'000, 'x'));
  client.type("tail");
  client.control(R"({"type":"stdin-eof"})");
  EXPECT_EQ(client.read_until("\n"), "100004\n");
}

/// A whole message of a client, as it is on the line: RFC 6455, 5.2, its mask four NULs.
std::string masked_frame(char opcode, std::string_view payload) {
  std::string frame{static_cast<char>(0x80 | opcode), static_cast<char>(0x80 | payload.size())};
  return frame.append(4, '\0').append(payload);
}

TEST_F(AttachTest, TakesMessagesHoweverTheyAreCut) {  // 32
  const auto id = detach("read -r line; echo got $line; wc -c");
  auto client = connect();
  const std::string request =
      "GET /executions/" + id +
      "/attach HTTP/1.1\r\nHost: sandbox\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  const int on = 1;
  ::setsockopt(client.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (const char byte : request) client.send({&byte, 1});
  EXPECT_THAT(client.receive_head(), StartsWith("HTTP/1.1 101 "));
  const std::string frames = masked_frame(2, std::string("\0one line\n", 10)) +
                             masked_frame(2, std::string("\0four", 5)) +
                             masked_frame(1, R"({"type":"stdin-eof"})");
  for (const char byte : frames) client.send({&byte, 1});
  auto whole = attach(id);
  const auto messages = whole.read_all();
  EXPECT_EQ(join(messages, "1"), "got one line\n4\n");
  EXPECT_EQ(join(messages, "3"), kExit0);
}

TEST_F(AttachTest, IsRefusedWithoutTheToken) {  // 39
  const auto id = detach("sleep 60");
  stop(SIGKILL);
  start("secret");
  const auto refused = attach(id);
  EXPECT_EQ(refused.status, 401u);
  EXPECT_THAT(refused.body, HasSubstr("unauthorized"));
}

TEST_F(AttachTest, IsHeardAndSeenToLeaveWhileItsInputWaits) {
  const auto id = detach("echo ready; exec sleep 60", {{"max_run_after_disconnect_ms", 0}});
  auto client = attach(id);
  client.read_until("ready\n");
  client.type(std::string(1'500'000, 'x'));
  client.drop();
  EXPECT_EQ(awaited_status(id), "cancelled");
  auto other = attach(detach("echo ready; exec sleep 60"));
  other.read_until("ready\n");
  other.type(std::string(1'500'000, 'x'));
  other.control(R"({"type":"signal","signal":"SIGTERM"})");
  EXPECT_EQ(join(other.read_all(), "3"), std::string("\0\0\0\x8f", 4));
}

TEST_F(AttachTest, SendsSignals) {
  // Not by a shell whose child the signal ends too: bash 5.2 may then send itself the signal for ever.
  auto client = attach(detach("trap 'echo got int; exit 4' INT; echo ready; read -r"));
  client.read_until("ready\n");
  client.control(R"({"type":"signal","signal":"SIGINT"})");
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "1"), "got int\n");
  EXPECT_EQ(join(messages, "3"), std::string("\0\0\0\4", 4));
}

TEST_F(AttachTest, IsToldWhatIsWrongWithAMessage) {
  auto client = attach(detach("read -r"));
  client.read();
  client.read();
  client.control(R"({"type":"resize","cols":80})");
  EXPECT_THAT(client.read().payload,
              HasSubstr(R"("details":{"rows":["Invalid input: expected number, received undefined"]})"));
  client.control(R"({"type":"resize","cols":80,"rows":24})");
  EXPECT_THAT(client.read().payload, HasSubstr("the execution does not run in a terminal"));
  client.control("{");
  EXPECT_THAT(client.read().payload, HasSubstr("Invalid JSON"));
  client.send("\x07nonsense");
  EXPECT_EQ(client.read().payload, "1003");
}

TEST_F(AttachTest, ToAKilledOneGetsItsExit) {
  const auto id = detach("echo ready; sleep 60");
  auto client = attach(id);
  client.read_until("ready\n");
  client.control(R"({"type":"signal","signal":"SIGKILL"})");
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "3"), std::string("\0\0\0\x89", 4));
  EXPECT_EQ(messages.back().payload, "1000");
}

TEST_F(AttachTest, LastToLeaveEndsItAfterAWhile) {
  const auto id = detach("echo ready; sleep 60", {{"max_run_after_disconnect_ms", 50}});
  attach(id).read_until("ready\n");
  EXPECT_EQ(awaited_status(id), "cancelled");
}

TEST_F(AttachTest, WhoComesBackInTimeKeepsItRunning) {
  const auto id = detach("echo ready; read -r; echo over", {{"max_run_after_disconnect_ms", 1500}});
  auto first = attach(id);
  first.read_until("ready\n");
  first.drop();
  for (int i = 0; i < 20; ++i) {  // two seconds in all, of many leavings
    Attached next(port_, id);
    next.read_until("ready\n");
    std::this_thread::sleep_for(100ms);  // the time itself
    next.drop();
  }
  auto last = attach(id);
  last.type("\n");
  EXPECT_EQ(last.read_until("over\n"), "ready\nover\n");
}

// Terminals.

TEST_F(AttachTest, ATerminalIsOne) {  // 53
  auto client =
      attach(detach("tty; stty size; echo $TERM $X; pwd; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all",
                    {{"pty", {{"cols", 133}, {"rows", 41}}}, {"cwd", "/"}, {"env", {{"X", "x y"}}}}));
  const auto messages = client.read_all();
  EXPECT_THAT(join(messages, "1"),
              testing::MatchesRegex("/dev/pts/[0-9]+\r\n41 133\r\nxterm-256color x y\r\n/\r\nall\r\n"));
  EXPECT_EQ(join(messages, "3"), kExit0);
}

TEST_F(AttachTest, ATerminalEchoesAndInterrupts) {
  auto client = attach(terminal("echo ready; sleep 60; echo not"));
  client.read_until("ready\r\n");
  client.type("typed");
  EXPECT_EQ(client.read_until("typed"), "typed");
  client.type("\x03");
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "1"), "^C");
  EXPECT_EQ(join(messages, "3"), std::string("\0\0\0\x82", 4));
}

TEST_F(AttachTest, ATerminalTellsItsProgramOfANewSize) {
  const auto id = terminal("trap 'echo told' WINCH; echo ready; while :; do stty size; sleep 0.01; done");
  auto client = attach(id);
  client.read_until("ready\r\n");
  client.control(R"({"type":"resize","cols":100,"rows":30})");
  EXPECT_THAT(client.read_until("told\r\n"), HasSubstr("told\r\n"));
  EXPECT_THAT(client.read_until("30 100\r\n"), HasSubstr("30 100\r\n"));
  const std::string size = R"({"cols":90,"rows":20})";
  EXPECT_THAT(call("POST /executions/" + id + "/resize HTTP/1.1\r\nHost: sandbox\r\nContent-Length: " +
                   std::to_string(size.size()) + "\r\n\r\n" + size),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(client.read_until("20 90\r\n"), HasSubstr("20 90\r\n"));
  client.control(R"({"type":"signal","signal":9})");
}

TEST_F(AttachTest, ATerminalLosesNothing) {
  auto client = attach(terminal("read -r; seq 1 200000"));
  client.type("\n");
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "1"), "\r\n" + numbers(200'000, "\r\n"));
  EXPECT_EQ(join(messages, "3"), kExit0);
}

TEST_F(AttachTest, ATerminalEndsThoughSomethingHoldsIt) {  // 8
  auto client = attach(terminal("setsid sleep 999 & echo $!"));
  const auto messages = client.read_all();
  EXPECT_EQ(join(messages, "3"), kExit0);
  ::kill(std::stoi(join(messages, "1")), SIGKILL);
}

TEST_F(AttachTest, ATerminalsInputEnds) {
  auto client = attach(terminal("cat; echo rc=$?"));
  client.type("line\n");
  EXPECT_EQ(client.read_until("line\r\nline\r\n"), "line\r\nline\r\n");
  client.control(R"({"type":"stdin-eof"})");
  EXPECT_EQ(client.read_until("rc=0\r\n"), "rc=0\r\n");
}

TEST_F(AttachTest, ATerminalIsSharedAndReplayed) {  // 76
  const auto id = terminal("exec bash --noprofile --norc");
  auto first = attach(id), second = attach(id);
  first.type("echo $((40+2))\n");
  EXPECT_THAT(first.read_until("42\r\n"), HasSubstr("42\r\n"));
  EXPECT_THAT(second.read_until("42\r\n"), HasSubstr("42\r\n"));
  first.drop();
  auto again = attach(id);
  EXPECT_THAT(again.read_until("42\r\n"), HasSubstr("42\r\n"));
  again.type("exit 5\n");
  EXPECT_EQ(join(second.read_all(), "3"), std::string("\0\0\0\5", 4));
}

TEST_F(AttachTest, ARawTerminalIsBytesAndAnEnd) {
  auto client = attach(terminal("echo ready; read -r line; echo got $line"), {.verb = "/terminal"});
  std::string all;
  while (all.find("ready\r\n") == all.npos) all += client.read().bytes();
  client.send("hi\n");
  for (auto message = client.read(); message.kind != "close"; message = client.read()) all += message.bytes();
  EXPECT_EQ(all, "ready\r\nhi\r\ngot hi\r\n");
}

}  // namespace
}  // namespace roombox
