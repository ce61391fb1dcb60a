#include <linux/capability.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/agent/agent_process.h"

namespace roombox {
namespace {

const std::vector<std::string> kAsPid1 = {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"};

/// As Docker starts a container: those of its default set of capabilities.
const std::vector<std::string> kAsInDocker = {
    "setpriv", "--no-new-privs", "--bounding-set",
    "-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,+net_bind_"
    "service,+sys_chroot,+kill,+audit_write"};

std::vector<std::string> operator+(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class PrivilegesTest : public AgentTest {
 protected:
  PrivilegesTest() {
    std::filesystem::copy_file(TRESPASS_BINARY, "/tmp/roombox-agent-test/trespass",
                               std::filesystem::copy_options::overwrite_existing);
  }

  void restart(const std::vector<std::string>& wrapper, const std::vector<std::string>& options = {}) {
    stop(SIGKILL);
    start("", wrapper, options);
  }

  /// What a command wrote, as JSON has it.
  std::string run(const std::string& command, const std::string& fields = "") const {
    const auto answer = call(post(R"({"cmd":")" + command + "\"" + fields + "}"));
    const auto begin = answer.find(R"("stdout":")");
    EXPECT_NE(begin, answer.npos) << answer;
    if (begin == answer.npos) return answer;
    return answer.substr(begin + 10, answer.find("\",\"stderr", begin) - begin - 10);
  }

  /// The events of one in a terminal, to its end.
  std::string run_in_terminal(const std::string& command) const {
    call(post(R"({"cmd":")" + command + R"(","pty":{}})", "Roombox-Execution: exec_terminal\r\n"));
    auto client = connect();
    client.send("GET /executions/exec_terminal/events HTTP/1.1\r\nHost: x\r\n\r\n");
    client.receive_head();
    return client.receive_until("event: exit");
  }

  /// Everything that the agent does to processes of another user.
  void expect_to_work() {
    EXPECT_EQ(run("echo here"), R"(here\n)");
    EXPECT_EQ(run("cat", R"(,"stdin":"fed")"), "fed");
    EXPECT_THAT(call(post(R"({"cmd":"sleep 98761 & setsid sleep 98761","timeout_ms":300})")),
                HasSubstr(R"("status":"timeout")"));
    EXPECT_EQ(run("pgrep -c -x -f 'sleep 98761'"), R"(0\n)");
    EXPECT_EQ(run("export A=1", R"(,"shell":"s")"), "");
    EXPECT_EQ(run("cat; echo $A", R"(,"shell":"s","stdin":"fed ")"), R"(fed 1\n)");
    EXPECT_THAT(run_in_terminal("test -t 1 && stty size"), HasSubstr("24 80"));
    // The score that each command gets once it has begun; most often before it looks.
    EXPECT_EQ(run("for i in $(seq 200); do s=$(cat /proc/$$/oom_score_adj); [ $s = " + commands_oom_score() +
                  " ] && break; sleep 0.01; done; echo $s"),
              commands_oom_score() + R"(\n)");
    EXPECT_THAT(call("PUT /files?/workspace HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
                StartsWith("HTTP/1.1 4"));
    EXPECT_THAT(call("GET /files/bytes?/etc/shadow HTTP/1.1\r\nHost: x\r\n\r\n"),
                StartsWith("HTTP/1.1 403 "));
  }

  static std::string commands_oom_score() {
    int own = 0;
    std::ifstream("/proc/self/oom_score_adj") >> own;
    return std::to_string(std::min(own + 500, 1000));
  }

  /// A set of capabilities by its name in /proc/pid/status.
  std::uint64_t capabilities(const std::string& name) const {
    const auto status = proc("status");
    const auto at = status.find("\n" + name + ":\t");
    EXPECT_NE(at, status.npos);
    return std::stoull(status.substr(at + name.size() + 3), nullptr, 16);
  }
};

constexpr char kStatus[] = "grep -E '^(Cap|NoNew)' /proc/self/status | tr '\\\\n\\\\t' '; '";
constexpr char kNothing[] =
    "CapInh: 0000000000000000;CapPrm: 0000000000000000;CapEff: 0000000000000000;CapBnd: 0000000000000000;"
    "CapAmb: 0000000000000000;NoNewPrivs: 1;";

TEST_F(PrivilegesTest, ACommandHasNoneAndGetsNone) {
  EXPECT_EQ(run(kStatus), kNothing);
  EXPECT_EQ(run(kStatus, R"(,"shell":"s")"), kNothing);
  EXPECT_THAT(run_in_terminal(kStatus), HasSubstr(kNothing));
  restart({"setpriv", "--inh-caps=+kill,+setuid", "--ambient-caps=+kill"});
  EXPECT_EQ(run(kStatus), kNothing) << "what the agent inherited went on";
}

TEST_F(PrivilegesTest, TheAgentKeepsWhatItNeeds) {
  std::uint64_t needed = 0;
  for (const int capability :
       {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SYS_RESOURCE})
    needed |= 1ull << capability;
  EXPECT_EQ(capabilities("CapPrm") & ~needed, 0u);
  EXPECT_EQ(capabilities("CapEff"), capabilities("CapPrm"));
  for (const char* none : {"CapInh", "CapBnd", "CapAmb"}) EXPECT_EQ(capabilities(none), 0u) << none;
  EXPECT_THAT(proc("status"), HasSubstr("\nNoNewPrivs:\t1\n"));
  expect_to_work();
}

TEST_F(PrivilegesTest, TheAgentNeedsNoMoreThanDockerGives) {
  for (const auto& kill : {"--kill=auto", "--kill=mark"}) {
    restart(kAsInDocker, {kill});
    expect_to_work();
    restart(kAsPid1 + kAsInDocker, {kill});
    expect_to_work();
  }
}

TEST_F(PrivilegesTest, ACommandCannotTouchTheAgent) {
  const auto try_it = [this](const std::string& pid) {
    EXPECT_EQ(run("./trespass " + pid), R"(tried\n)") << "what comes before was let through";
    EXPECT_EQ(run("unshare -Ur ./trespass " + pid), R"(tried\n)") << "as root of a user namespace";
    EXPECT_EQ(run("echo on"), R"(on\n)");
  };
  try_it(std::to_string(pid_));
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task"))
    EXPECT_EQ(run("./trespass " + thread.path().filename().string()), R"(tried\n)") << "of its threads";
  restart(kAsPid1 + kAsInDocker);
  try_it("1");
  EXPECT_EQ(run("sleep 60 & kill -9 -1; wait $!; echo $?"), R"(137\n)");  // all that it may
  EXPECT_EQ(run("echo on"), R"(on\n)");
}

TEST_F(PrivilegesTest, AsPid1TheAgentIsHiddenWhereItMayMount) {
  constexpr char kLook[] =
      "cat /proc/1/comm 2>/dev/null || echo hidden; ls -d /proc/1 2>/dev/null; ps -e -o user= | sort -u | wc "
      "-l";
  for (const auto& kill : {"--kill=auto", "--kill=mark"}) {
    restart(kAsPid1, {kill});
    EXPECT_EQ(run(kLook), R"(hidden\n1\n)");
    EXPECT_THAT(run("grep ' /proc proc ' /proc/self/mounts"),
                testing::AllOf(HasSubstr("nosuid,nodev,noexec"), HasSubstr("hidepid")));
    EXPECT_EQ(run("./trespass 1"), R"(tried\n)");
    expect_to_work();
  }
  restart(kAsPid1 + kAsInDocker);
  EXPECT_THAT(run(kLook), testing::Not(HasSubstr("hidden")));
}

TEST_F(PrivilegesTest, AForkBombEndsWhereTheAgentIsHidden) {
  std::filesystem::copy_file(FORK_BOMB_BINARY, "/tmp/roombox-agent-test/fork_bomb",
                             std::filesystem::copy_options::overwrite_existing);
  for (const auto& kill : {"--kill=auto", "--kill=mark"}) {
    restart(kAsPid1, {kill});
    // Few: other tests' commands are the same user's.
    EXPECT_THAT(call(post(R"({"cmd":"ulimit -u 150; exec ./fork_bomb 20","timeout_ms":1000})")),
                testing::AllOf(HasSubstr(R"("status":"timeout")"), HasSubstr(R"("stdout":"ready\n")")));
    EXPECT_EQ(run("pgrep -c -x fork_bomb"), R"(0\n)");
    EXPECT_EQ(run("echo on"), R"(on\n)");
  }
}

TEST_F(PrivilegesTest, TheProcOfAHostStaysAsItIs) {
  restart({"unshare", "--mount", "--pid", "--fork", "--kill-child"});  // PID 1, and the /proc of others
  EXPECT_EQ(run("grep -c hidepid /proc/self/mounts"), R"(0\n)");
}

}  // namespace
}  // namespace roombox
