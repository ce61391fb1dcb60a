#include <filesystem>
#include <optional>

#include "tests/agent/agent_process.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

TEST_F(AgentTest, IsHealthyAndKnowsItsVersion) {
  EXPECT_THAT(call("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), testing::EndsWith("\r\n\r\nok"));
  EXPECT_THAT(call("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr(R"({"version":")"));
}

TEST_F(AgentTest, AnswersAnExecutionInItsFinalShape) {
  const auto response = call(post(R"({"cmd":"echo 'Hello from sandbox'"})"));
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(response, HasSubstr(R"("stdout":"Hello from sandbox\n","stderr":"")"));
  EXPECT_THAT(response, testing::EndsWith(R"("sandboxName":"sandbox-r1"})"));
}

TEST_F(AgentTest, AnswersARefusalInJson) {
  EXPECT_THAT(call(post("{}")),
              testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr(R"("details":{"cmd":[)")));
  EXPECT_THAT(call(post(R"({"cmd":"true","cwd":"/nowhere"})")),
              testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr(R"("cwd":["Cannot enter /nowhere)")));
  EXPECT_THAT(call("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr(R"("code":"not_found")")));
}

TEST_F(AgentTest, ServesManyRequestsOnOneConnection) {
  auto client = connect();
  for (int i = 0; i < 20; ++i) {
    client.send(post(R"({"cmd":"echo )" + std::to_string(i) + "\"}"));
    EXPECT_THAT(client.receive(), HasSubstr("\"stdout\":\"" + std::to_string(i) + "\\n\""));
  }
}

TEST_F(AgentTest, AnswersPipelinedRequestsInOrder) {
  auto client = connect();
  client.send(post(R"({"cmd":"sleep 0.2; echo first"})") + post(R"({"cmd":"echo second"})"));
  EXPECT_THAT(client.receive(), HasSubstr("first"));
  EXPECT_THAT(client.receive(), HasSubstr("second"));
}

TEST_F(AgentTest, ReadsARequestThatComesByteByByte) {
  auto client = connect();
  for (const char byte : post(R"({"cmd":"echo slow"})")) client.send({&byte, 1});
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"slow\n")"));
}

TEST_F(AgentTest, ReadsAChunkedBody) {
  EXPECT_THAT(call("POST /executions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "6\r\n{\"cmd\"\r\n9\r\n:\"echo a\"\r\n1\r\n}\r\n0\r\n\r\n"),
              HasSubstr(R"("stdout":"a\n")"));
}

TEST_F(AgentTest, RefusesWhatIsNotHttpAndLivesOn) {
  for (const std::string garbage :
       {"\x16\x03\x01\x02garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "POST /executions HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /executions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"}) {
    auto client = connect();
    client.send(garbage);
    EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 400 ")) << garbage;
    EXPECT_TRUE(client.is_closed()) << garbage;
  }
  EXPECT_THAT(call("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AgentTest, RefusesWhatIsTooLarge) {
  EXPECT_THAT(
      call("POST /executions HTTP/1.1\r\nContent-Length: " + std::to_string(limits::kBody + 1) + "\r\n\r\n"),
      testing::AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr(R"("code":"payload_too_large")")));
  EXPECT_THAT(call("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

TEST_F(AgentTest, CancelsWhenTheClientLeaves) {
  const std::string marker = "sleep 98765";
  {
    auto client = connect();
    client.send(post(R"({"cmd":")" + marker + " & " + marker + "\"}"));
    // Both are there before the client leaves.
    while (call(post(R"({"cmd":"pgrep -c -x -f 'sleep 98765'"})")).find("\"2\\n\"") == std::string::npos) {
    }
  }
  const auto left = Clock::now();
  while (call(post(R"({"cmd":"pgrep -c -x -f 'sleep 98765'"})")).find("\"0\\n\"") == std::string::npos) {
    ASSERT_LT(Clock::now() - left, 1s);
  }
}

TEST_F(AgentTest, AnswersOnlyWhoKnowsTheToken) {
  stop(SIGKILL);
  start("secret");
  constexpr char kBody[] = R"({"cmd":"echo in"})";
  for (const char* headers : {"", "Roombox-Token: wrong\r\n", "Roombox-Token: secre\r\n",
                              "Roombox-Token: secrets\r\n", "Authorization: Bearer secret\r\n"}) {
    EXPECT_THAT(call(post(kBody, headers)),
                testing::AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("unauthorized")));
  }
  EXPECT_THAT(call(post(kBody, "Roombox-Token: secret\r\n")), HasSubstr(R"("stdout":"in\n")"));
}

TEST_F(AgentTest, EndsAtOnceOnSigtermWithItsCommands) {
  auto client = connect();
  client.send(post(R"({"cmd":"trap '' TERM; sleep 98764 & sleep 98764; sleep 98764"})"));
  while (call(post(R"({"cmd":"pgrep -c -x -f 'sleep 98764'"})")).find("\"2\\n\"") == std::string::npos) {
  }
  const auto asked = Clock::now();
  EXPECT_EQ(stop(SIGTERM), 0);
  EXPECT_LT(Clock::now() - asked, 500ms);
  EXPECT_TRUE(client.is_closed());  // never an invented result
}

TEST_F(AgentTest, AsPid1KillsATreeThatForksFasterThanItCanBeSeen) {
  stop(SIGKILL);
  start("", {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}, {"--kill=mark"});
  std::filesystem::copy_file(FORK_CHAIN_BINARY, "/tmp/roombox-agent-test/fork_chain",
                             std::filesystem::copy_options::overwrite_existing);
  call(post(R"({"cmd":"setsid bash -c 'sleep 59 & kill -STOP $!; wait' >/dev/null 2>&1 &"})"));
  const std::string count =
      R"({"cmd":"od -An -tu4 /tmp/roombox-agent-test/count; sleep 0.2; od -An -tu4 /tmp/roombox-agent-test/count"})";
  for (int round = 0; round < 5; ++round) {
    const auto response =
        call(post(R"({"cmd":"rm -f count; ./fork_chain count & sleep 60","timeout_ms":200})"));
    EXPECT_THAT(response, HasSubstr(R"("status":"timeout")"));
    const auto counts = call(post(count));
    unsigned first = 0, second = 0;
    ASSERT_EQ(std::sscanf(counts.c_str() + counts.find("stdout\":\"") + 9, " %u\\n %u", &first, &second), 2)
        << counts;
    EXPECT_GT(first, 10u) << "the chain did not run";
    EXPECT_EQ(first, second) << "the chain runs on";
  }
  // Who was stopped before still is, who was not is not.
  EXPECT_THAT(call(post(R"({"cmd":"ps -eo stat= | grep -c ^T"})")), HasSubstr(R"("stdout":"1\n")"));
}

TEST_F(AgentTest, DoesNotWaitForAShellThatAnotherProcessTraces) {
  call(post(R"({"cmd":"exec >/dev/null 2>&1; setsid sleep 9 & echo"})"));
  // A tracer that never waits keeps the dead shell's exit from its parent.
  constexpr char kTracer[] =
      R"({"cmd":"exec >/dev/null 2>&1; setsid python3 -c 'import ctypes,os,time\nlibc=ctypes.CDLL(None)\nseen=set()\nend=time.time()+8\nwhile time.time()<end:\n for p in os.listdir(\"/proc\"):\n  if p.isdigit() and p not in seen:\n   seen.add(p)\n   try: line=open(f\"/proc/{p}/cmdline\").read()\n   except OSError: continue\n   if \"sleep\\08765\" in line: libc.ptrace(0x4206,int(p),0,0)\n   else: seen.discard(p)\n time.sleep(0.005)' &"})";
  call(post(kTracer));
  const auto began = Clock::now();
  EXPECT_THAT(call(post(R"({"cmd":"exec sleep 8765","timeout_ms":1500})")), HasSubstr(R"("exitCode":124)"));
  EXPECT_LT(Clock::now() - began, 4s);
}

TEST_F(AgentTest, KeepsNoBodyWhileAConnectionIdles) {
  const std::string body = "{\"cmd\":\"" + std::string(4'000'000, 'x') + "\"}";
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(connect());
    clients.back().send(post(body));
    EXPECT_THAT(clients.back().receive(), StartsWith("HTTP/1.1 400 "));
  }
  const auto status = proc("status");
  EXPECT_LT(std::stoi(status.substr(status.find("VmRSS:") + 6)), (20 << 10) + kSlackKib);
}

TEST_F(AgentTest, AnswersHeadWithoutABody) {
  auto client = connect();
  client.send("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.receive_head(), HasSubstr("Content-Length: 2\r\n"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(AgentTest, StaysSmallWhateverACommandPrints) {
  const auto resident = [this] {
    const auto status = proc("status");
    return std::stoi(status.substr(status.find("VmRSS:") + 6));
  };
  call(post(R"({"cmd":"head -c 3000000 /dev/zero"})"));
  const int before = resident();
  const auto response =
      call(post(R"({"cmd":"yes","timeout_ms":2000})"));  // megabytes: not for a matcher to print
  EXPECT_NE(response.find(R"("truncated":true)"), response.npos);
  EXPECT_NE(response.find(R"("exitCode":124)"), response.npos);
  EXPECT_LT(resident(), before + kSlackKib);
}

TEST_F(AgentTest, ServesManyConnectionsAtOnce) {
  std::vector<Client> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(connect());
  for (auto& client : clients) client.send(post(R"({"cmd":"exit 7"})"));
  for (auto& client : clients) EXPECT_THAT(client.receive(), HasSubstr(R"("exitCode":7)"));
}

TEST_F(AgentTest, RunsCommandsByTheShellItIsGiven) {
  stop(SIGKILL);
  start("", {}, {"--shell=/bin/sh"});
  auto client = connect();
  client.send(post(R"({"cmd":"echo $0 $SHELL"})"));
  EXPECT_THAT(client.receive(), HasSubstr(R"("stdout":"sh /bin/sh\n")"));
}

TEST(AgentBinary, SaysWhatIsWrong) {
  const auto run = [](std::string command) {
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string out;
    char bytes[4096];
    while (const auto size = std::fread(bytes, 1, sizeof bytes, pipe)) out.append(bytes, size);
    return std::pair(out, WEXITSTATUS(::pclose(pipe)));
  };
  const std::string agent = AGENT_BINARY;
  EXPECT_THAT(run(agent + " --version").first, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_THAT(run(agent + " --user root"), testing::Pair(HasSubstr("commands do not run as root"), 1));
  EXPECT_THAT(run(agent + " --address nowhere"), testing::Pair(HasSubstr("cannot start"), 1));
  EXPECT_THAT(run(agent + " --shell /no/shell"), testing::Pair(HasSubstr("/no/shell"), testing::Ne(0)));
  EXPECT_NE(run(agent + " --nonsense").second, 0);
}

}  // namespace
}  // namespace roombox
