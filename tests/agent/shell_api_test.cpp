#include <string>

#include "tests/agent/agent_process.h"

// Persistent shells as a caller of the agent sees them.

namespace roombox {
namespace {

class ShellApiTest : public AgentTest {};

TEST_F(ShellApiTest, TellsTheShellInTheResult) {
  auto client = connect();
  client.send(post(R"({"cmd":"cd /tmp; export A=1","shell":"main"})"));
  EXPECT_THAT(client.receive(),
              testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("status":"completed")"),
                             HasSubstr(R"("shell":"main","shellExited":false)")));
  client.send(post(R"({"cmd":"pwd; env | grep ^A=","shell":"main"})"));
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"/tmp\nA=1\n")"));
  client.send(post(R"({"cmd":"echo gone; exit 42","shell":"main"})"));
  EXPECT_THAT(client.receive(),
              testing::AllOf(HasSubstr(R"("exitCode":42)"), HasSubstr(R"("stdout":"gone\n")"),
                             HasSubstr(R"("shell":"main","shellExited":true)")));
  client.send(post(R"({"cmd":"echo ${A-fresh}","shell":"main"})"));
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"fresh\n")"));
  client.send(post(R"({"cmd":"true"})"));
  EXPECT_THAT(client.receive(), testing::Not(HasSubstr("shell")));
}

TEST_F(ShellApiTest, WritesBytesAsTheCallerWants) {
  EXPECT_THAT(call(post(R"({"cmd":"printf '\\0\\377'","shell":"a","encoding":"base64"})")),
              HasSubstr(R"("stdout":"AP8=")"));
}

TEST_F(ShellApiTest, RefusesWhatAShellKeepsItself) {
  EXPECT_THAT(call(post(R"({"cmd":"true","shell":"a","cwd":"/"})")),
              testing::AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("use cd in it")));
}

TEST_F(ShellApiTest, StreamsFromItsTurnOn) {
  auto running = connect(), waiting = connect();
  running.send(post(R"({"cmd":"echo begun; read -t 0.3 <> <(:); n=7","shell":"a","stream":true})"));
  EXPECT_THAT(running.receive_head(), HasSubstr("text/event-stream"));
  running.receive_until("begun");
  waiting.send(post(R"({"cmd":"echo n=$n; exit 3","shell":"a","stream":true})"));
  EXPECT_THAT(waiting.receive_head(), StartsWith("HTTP/1.1 200"));  // before its turn
  EXPECT_THAT(waiting.receive_until("event: start"), HasSubstr("event: start"));
  const auto body = waiting.receive_body();
  EXPECT_THAT(body, HasSubstr("n=7"));
  EXPECT_THAT(body, HasSubstr(R"("shellExited":true)"));
}

TEST_F(ShellApiTest, DetachesAndAnswersAtOnce) {
  auto client = connect();
  client.send(
      post(R"({"cmd":"sleep 0.2; n=8","shell":"a","detach":true})", "Roombox-Execution: exec_first\r\n"));
  EXPECT_THAT(client.receive(), testing::AllOf(StartsWith("HTTP/1.1 202"), HasSubstr(R"("status":"running")"),
                                               HasSubstr(R"("shell":"a")")));
  client.send(post(R"({"cmd":"sleep 60","shell":"a","detach":true})", "Roombox-Execution: exec_second\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 202"));
  client.send("POST /executions/exec_second/kill HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(client.receive(),
              testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("status":"cancelled")"),
                             HasSubstr(R"("shellExited":false)")));
  client.send(post(R"({"cmd":"echo n=$n","shell":"a"})"));
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"n=8\n")"));
  client.send("GET /executions/exec_second HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(client.receive(), HasSubstr("shell 1\na"));  // its record
}

TEST_F(ShellApiTest, EndsTheShellOfAClientThatLeaves) {
  {
    auto client = connect();
    client.send(post(R"({"cmd":"n=1; echo begun; sleep 60","shell":"a","stream":true})"));
    client.receive_head();
    client.receive_until("begun");
  }
  const auto began = Clock::now();
  EXPECT_THAT(call(post(R"({"cmd":"echo ${n-fresh}","shell":"a"})")), HasSubstr(R"("stdout":"fresh\n")"));
  EXPECT_LT(Clock::now() - began, 2s);
}

TEST_F(ShellApiTest, AnswersOneShellTooMany) {
  auto client = connect();
  for (int i = 0; i < 32; ++i) {
    client.send(post(R"({"cmd":"true","shell":"s)" + std::to_string(i) + "\"}"));
    ASSERT_THAT(client.receive(), StartsWith("HTTP/1.1 200"));
  }
  client.send(post(R"({"cmd":"true","shell":"more"})"));
  EXPECT_THAT(client.receive(), testing::AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("32 persistent shells"),
                                               HasSubstr(R"("code":"too_many_requests")")));
}

}  // namespace
}  // namespace roombox
