#include "container/engine.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/agent/engine_fixture.h"
#include "wasm/protocol/limits.h"

// Promises of an execution, kept by real processes. Names say the promise; numbers in comments are of inputs
// that broke others.

namespace roombox {
namespace {

using testing::HasSubstr;

class EngineTest : public EngineFixture {
 protected:
  EngineTest() {
    const auto account = *account_for("roombox-test-user", "/tmp");
    const std::string shell = default_shell();
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", secret[] = "ROOMBOX_AGENT_TOKEN=secret";
    char* environment[] = {path, secret, nullptr};
    engine_.emplace(io_,
                    EngineConfig{account, workspace(), shell, base_environment(account, shell, environment)});
  }

  /// Processes that live and carry the mark of one of this engine's executions.
  int survivors() {
    std::istringstream groups(run("id -G").out);
    gid_t own = 0, newest = 0;
    groups >> own >> newest;
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "status");
      const std::string status{std::istreambuf_iterator<char>(file), {}};
      for (gid_t mark = newest - 200; mark < newest; ++mark) count += is_alive_with_mark(status, mark);
    }
    return count;
  }

  using EngineFixture::run;
  Ended run(std::string command, std::chrono::milliseconds timeout = 10s) {
    return run(request(std::move(command), timeout));
  }
  static ExecRequest request(std::string command, std::chrono::milliseconds timeout = 10s) {
    ExecRequest request;
    request.cmd = std::move(command);
    request.timeout = timeout;
    return request;
  }
};

TEST_F(EngineTest, AnswersBothStreamsAndTheExitCode) {
  const auto ended = run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(ended.status, Status::Completed);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_FALSE(ended.signal);
}

TEST_F(EngineTest, AnswersASignalAs128AndItsName) {
  const auto ended = run("kill -TERM $$");
  EXPECT_EQ(ended.status, Status::Completed);
  EXPECT_EQ(ended.exit_code, 128 + SIGTERM);
  EXPECT_EQ(ended.signal, "SIGTERM");
  EXPECT_EQ(run("kill -34 $$").signal, "SIG34");
}

TEST_F(EngineTest, GivesEveryExitCodeToItsOwnExecution) {  // 24
  constexpr int kCount = 256;
  std::vector<std::optional<Ended>> ended(kCount);
  for (int i = 0; i < kCount; ++i) start(request("exit " + std::to_string(i), 60s), ended[i]);
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(ended.begin(), ended.end(), [](auto& e) { return e.has_value(); }); }, 60s));
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(ended[i]->exit_code, i);
}

TEST_F(EngineTest, RunsATextThatLooksLikeAnOption) {
  EXPECT_EQ(run("-x").exit_code, 127);
  EXPECT_EQ(run("--version").exit_code, 127);
  EXPECT_EQ(run("+e").exit_code, 127);
}

TEST_F(EngineTest, HasAnEmptyStdin) {  // 3
  const auto ended = run("cat; read x; echo rc=$?");
  EXPECT_EQ(ended.out, "rc=1\n");
}

TEST_F(EngineTest, IsNotHeldByABackgroundChildThatRedirectedItsOutput) {  // 1
  const auto ended = run("sleep 30 >/dev/null 2>&1 & echo hi; echo $! >&2");
  EXPECT_EQ(ended.out, "hi\n");
  EXPECT_LT(ended.took, 1s);
  const pid_t background = std::stoi(ended.err);
  EXPECT_EQ(::kill(background, 0), 0) << "it was killed with its command";
  ::kill(background, SIGKILL);
}

TEST_F(EngineTest, IsHeldByOneThatDidNotUntilTheTimeoutTakesIt) {  // 2
  const auto ended = run("cd /tmp && nohup sleep 61 &", 300ms);
  EXPECT_EQ(ended.status, Status::Timeout);
  EXPECT_EQ(ended.exit_code, 124);
  EXPECT_GE(ended.took, 300ms);
  EXPECT_LT(ended.took, 600ms);
  EXPECT_EQ(survivors(), 0);
}

TEST_F(EngineTest, TimesOutInTimeWithItsWholeTree) {  // 11, 14
  for (const char* command : {"sleep 5", "sh -c 'sleep 5; echo x' | cat", "sleep 300 & wait",
                              "(setsid sleep 62 &) ; setsid nohup sh -c 'sleep 63 & sleep 64' & sleep 65",
                              "trap '' TERM INT HUP; sleep 66 & sleep 67; sleep 68",
                              "python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: "
                              "time.sleep(69)\n os._exit(0)\ntime.sleep(70)'"}) {
    const auto ended = run(command, 200ms);
    EXPECT_EQ(ended.status, Status::Timeout) << command;
    EXPECT_EQ(ended.exit_code, 124) << command;
    EXPECT_GE(ended.took, 200ms) << command;
    EXPECT_LT(ended.took, 500ms) << command;
    EXPECT_EQ(survivors(), 0) << command;
  }
}

TEST_F(EngineTest, OutrunsATreeThatForksAsItIsKilled) {
  const auto ended =
      run("f() { for i in 1 2 3 4 5 6; do sleep 60 & done; sleep 0.01; f & f; }; (ulimit -u 400; f) "
          "2>/dev/null; sleep 60",
          400ms);
  EXPECT_EQ(ended.status, Status::Timeout);
  EXPECT_EQ(survivors(), 0);
}

TEST_F(EngineTest, FreesThePortOfAServerThatTimedOut) {  // 13
  const std::string serve =
      "exec python3 -c 'import socket,time\ns=socket.create_server((\"127.0.0.1\", "
      "0))\nprint(s.getsockname()[1], flush=True)\ntime.sleep(60)' & wait";
  const auto ended = run(serve, 1500ms);
  ASSERT_EQ(ended.status, Status::Timeout);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(ended.out)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

TEST_F(EngineTest, KeepsOtherExecutionsOutOfATimeout) {
  std::optional<Ended> other;
  start(request("sleep 1; echo still here"), other);
  EXPECT_EQ(run("sleep 60", 100ms).status, Status::Timeout);
  ASSERT_TRUE(run_until([&] { return other.has_value(); }));
  EXPECT_EQ(other->out, "still here\n");
  EXPECT_EQ(other->status, Status::Completed);
}

TEST_F(EngineTest, CancelsWithItsWholeTree) {
  std::optional<Ended> ended;
  auto execution = start(request("setsid sleep 71 & echo begun; sleep 72"), ended);
  ASSERT_TRUE(run_until([&] { return execution->view().out == "begun\n"; }));
  const auto began = Clock::now();
  execution->cancel();
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  EXPECT_LT(Clock::now() - began, 1s);
  EXPECT_EQ(ended->status, Status::Cancelled);
  EXPECT_EQ(ended->exit_code, 128 + SIGKILL);
  EXPECT_EQ(survivors(), 0);
}

TEST_F(EngineTest, CancelsWhatHasHardlyBegun) {
  for (int i = 0; i < 50; ++i) {
    std::optional<Ended> ended;
    start(request("sleep 73 & sleep 74"), ended)->cancel();
    ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
    EXPECT_EQ(ended->status, Status::Cancelled);
  }
  EXPECT_EQ(survivors(), 0);
}

TEST_F(EngineTest, KeepsWhatWasWrittenBeforeATimeout) {
  const auto ended = run("echo before; sleep 60", 300ms);
  EXPECT_EQ(ended.out, "before\n");
}

TEST_F(EngineTest, LosesNoByteOfEitherStream) {  // 6
  const auto ended = run("head -c 900000 /dev/zero | tr '\\0' a; head -c 900000 /dev/zero | tr '\\0' b >&2");
  EXPECT_TRUE(ended.out == std::string(900000, 'a')) << ended.out.size();
  EXPECT_TRUE(ended.err == std::string(900000, 'b')) << ended.err.size();
  EXPECT_FALSE(ended.truncated);
}

TEST_F(EngineTest, StoresAPrefixOfWhatIsTooMuch) {  // 34
  const auto ended = run("seq 1 1000000; echo done >&2");
  EXPECT_TRUE(ended.truncated);
  EXPECT_EQ(ended.out.size(), limits::kStoredOutput);
  EXPECT_THAT(ended.out, testing::StartsWith("1\n2\n3\n"));
  EXPECT_EQ(ended.err, "done\n");
  EXPECT_EQ(ended.exit_code, 0);
}

TEST_F(EngineTest, KeepsNulEscapeAndBytesThatAreNoText) {
  EXPECT_EQ(run("printf 'a\\0b\\033\\377\\n\\n'").out, std::string_view("a\0b\033\377\n\n", 7));
}

TEST_F(EngineTest, RunsATextLongerThanAnArgumentMayBe) {
  const std::string word(200'000, 'w');
  const auto ended = run("echo " + word + "; echo $# $0; exit 4");
  EXPECT_EQ(ended.out, word + "\n0 " + std::filesystem::path(default_shell()).filename().string() + "\n");
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_EQ(run(": " + std::string(limits::kCommand - 10, 'x') + "; exit 5").exit_code, 5);
}

TEST_F(EngineTest, RunsTheLongestCommandWithTheLargestEnvironment) {
  auto large = request(": " + std::string(limits::kCommand - 10, 'x') + "; exit 6");
  for (int i = 0; i < 4; ++i)
    large.env.push_back({"V" + std::to_string(i), std::string(limits::kEnvEntry - 3, 'v')});
  EXPECT_EQ(run(std::move(large)).exit_code, 6);
}

TEST_F(EngineTest, PassesTheEnvironmentUnchanged) {  // 49
  auto with_env = request("printf '%s|' \"$A\" \"$HOME\" \"$EMPTY\"; env | grep -c ^HOME=");
  with_env.env = {{"A", "' \" $ ` \\ \n end"}, {"HOME", "/elsewhere"}, {"EMPTY", ""}};
  EXPECT_EQ(run(std::move(with_env)).out, "' \" $ ` \\ \n end|/elsewhere||1\n");
}

TEST_F(EngineTest, HidesTheAgentsSecrets) {
  EXPECT_EQ(run("env | grep -c ROOMBOX").out, "0\n");
  EXPECT_EQ(run("cat /proc/$PPID/environ").exit_code, 1);
}

TEST_F(EngineTest, StartsInTheWorkspaceAndOwnsIt) {
  EXPECT_EQ(run("pwd; touch made-here && ls").out, workspace() + "\nmade-here\n");
}

TEST_F(EngineTest, GivesEachExecutionItsOwnDirectory) {  // 55
  std::vector<std::optional<Ended>> ended(50);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const auto name = "d" + std::to_string(i);
    start(request("mkdir -p " + name + " && cd " + name + " && pwd"), ended[i]);
  }
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(ended.begin(), ended.end(), [](auto& e) { return e.has_value(); }); }));
  for (std::size_t i = 0; i < ended.size(); ++i)
    EXPECT_EQ(ended[i]->out, workspace() + "/d" + std::to_string(i) + "\n");
}

TEST_F(EngineTest, NamesADirectoryThatItCannotEnter) {
  std::filesystem::create_directory(root_ + "/closed");
  ::chmod((root_ + "/closed").c_str(), 0700);
  for (const auto& [directory, reason] : {std::pair{std::string("/no/such"), "No such file or directory"},
                                          std::pair{std::string("/etc/passwd"), "Not a directory"},
                                          std::pair{root_ + "/closed", "Permission denied"}}) {
    auto elsewhere = request("true");
    elsewhere.cwd = directory;
    const auto ended = run(std::move(elsewhere));
    ASSERT_TRUE(ended.error) << directory;
    EXPECT_EQ(ended.error->code, ErrorCode::InvalidRequest);
    ASSERT_EQ(ended.error->details.size(), 1u);
    EXPECT_EQ(ended.error->details[0].field, "cwd");
    EXPECT_THAT(ended.error->details[0].message, testing::AllOf(HasSubstr(directory), HasSubstr(reason)));
  }
}

TEST_F(EngineTest, RunsUnprivilegedWithNothingInherited) {
  EXPECT_EQ(run("id -u; id -g").out, "1000\n1000\n");
  EXPECT_EQ(run("ls /proc/self/fd").out, "0\n1\n2\n3\n");  // 3 is ls's own
  const auto status = run("cat /proc/self/status").out;
  for (const char* line : {"NoNewPrivs:\t1", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
                           "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000",
                           "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"}) {
    EXPECT_THAT(status, HasSubstr(line));
  }
  EXPECT_EQ(run("ulimit -c").out, "0\n");
  EXPECT_NE(run("kill -9 $PPID").exit_code, 0);
  EXPECT_THAT(run("ps -o sid= -p $$; echo $$").out, testing::Truly([](const std::string& out) {
                int sid = 0, pid = 0;
                return std::sscanf(out.c_str(), "%d %d", &sid, &pid) == 2 && sid == pid;
              }));
}

TEST_F(EngineTest, CannotShedItsMark) {
  const auto ended =
      run("python3 -c 'import os\ntry: os.setgroups([])\nexcept OSError as e: print(e.errno)'; "
          "unshare -Ur python3 -c 'import os\nos.setgroups([])' 2>/dev/null || echo refused; "
          "grep Groups /proc/self/status | wc -w");
  EXPECT_EQ(ended.out, "1\nrefused\n3\n");
}

TEST_F(EngineTest, LeavesNoZombie) {  // 23
  std::vector<std::optional<Ended>> ended(200);
  for (auto& one : ended) start(request("(sleep 0.01 >/dev/null 2>&1 &)"), one);
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(ended.begin(), ended.end(), [](auto& e) { return e.has_value(); }); }));
  const std::string children = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  EXPECT_TRUE(run_until([&] {
    std::ifstream file(children);
    return file.peek() == std::ifstream::traits_type::eof();
  }));
}

TEST_F(EngineTest, LeaksNoDescriptor) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  run("true");
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) run("true");
  for (int i = 0; i < 5; ++i) run("sleep 9", 20ms);
  auto nowhere = request("true");
  nowhere.cwd = "/nowhere";
  run(std::move(nowhere));
  EXPECT_EQ(open_files(), before);
}

TEST_F(EngineTest, SaysWhatHinderedAStart) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  rlimit none = files;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::optional<Ended> ended;
  start(request("true"), ended);
  ::setrlimit(RLIMIT_NOFILE, &files);
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  ASSERT_TRUE(ended->error);
  EXPECT_EQ(ended->error->code, ErrorCode::ExecutionFailed);
  EXPECT_EQ(ended->error->message, "sandbox execution failed: pipe2: Too many open files");
  EXPECT_EQ(run("echo next works").out, "next works\n");
}

TEST_F(EngineTest, CarriesItsBootIdInEveryExecutionId) {
  std::optional<Ended> ended;
  const auto first = start(request("true"), ended)->id();
  const auto second = start(request("true"), ended)->id();
  EXPECT_THAT(first, testing::StartsWith("exec_" + engine_->boot_id()));
  EXPECT_NE(first, second);
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
}

}  // namespace
}  // namespace roombox
