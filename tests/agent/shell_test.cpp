#include "container/shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "container/engine.h"
#include "container/limits.h"
#include "tests/agent/engine_fixture.h"

// Promises of persistent shells, kept by real ones. Names say the promise; the commands are what would break
// a shell that tells its own bookkeeping from theirs by looking at their text or output.

namespace roombox {
namespace {

using testing::HasSubstr;

class ShellTest : public EngineFixture {
 protected:
  ShellTest() { start_engine(default_shell()); }
  ~ShellTest() override { engine_->kill_all(); }

  void start_engine(const std::string& shell, std::chrono::milliseconds idle = limits::kShellIdle,
                    KillMethod kill = KillMethod::Auto) {
    const auto account = *account_for("roombox-test-user", "/tmp");
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char* environment[] = {path, nullptr};
    EngineConfig config{account, workspace(), shell, base_environment(account, shell, environment)};
    config.shell_idle = idle;
    config.kill = kill;
    engine_.emplace(io_, std::move(config));
  }

  static ExecRequest request(std::string command, std::string shell = "main") {
    ExecRequest request;
    request.cmd = std::move(command);
    request.shell = std::move(shell);
    request.timeout = 10s;
    return request;
  }

  using EngineFixture::run;
  Ended run(std::string command, std::chrono::milliseconds timeout = 10s) {
    auto in_shell = request(std::move(command));
    in_shell.timeout = timeout;
    return run(std::move(in_shell));
  }
  Ended run_with_input(std::string command, std::string input) {
    auto with_input = request(std::move(command));
    with_input.stdin_text = std::move(input);
    return run(std::move(with_input));
  }

  /// Expects that the shell is there, with what the first of its calls has set; or that it is a fresh one.
  void mark() { EXPECT_EQ(run("marked=yes").exit_code, 0); }
  void expect_same_shell() { EXPECT_EQ(run("echo ${marked-no}").out, "yes\n"); }
  void expect_fresh_shell() {
    const auto ended = run("echo ${marked-no}; pwd");
    EXPECT_EQ(ended.out, "no\n" + root_ + "/workspace\n");
    EXPECT_EQ(ended.err, "");
    EXPECT_FALSE(ended.shell_exited);
  }
};

TEST_F(ShellTest, AnswersBothStreamsAndTheStatus) {
  const auto ended = run("echo out; echo err >&2; (exit 3)");
  EXPECT_EQ(ended.status, Status::Completed);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_FALSE(ended.signal);
  EXPECT_FALSE(ended.shell_exited);
}

TEST_F(ShellTest, KeepsWhatCallsHaveSet) {
  run("cd /tmp; plain=1; export EXPORTED=2; f() { echo \"f $plain\"; }; alias hi='echo aliased'; umask 077");
  run("shopt -s nullglob; set -u; declare -A map=([k]=v); exec 5</etc/hostname; readonly r=3");
  EXPECT_EQ(run("pwd; f; env | grep EXPORTED; hi; umask").out, "/tmp\nf 1\nEXPORTED=2\naliased\n0077\n");
  EXPECT_EQ(run("echo nothing*; echo $- ${map[k]} $r; [ -e /proc/self/fd/5 ] && echo 5").out,
            "\nhuBc v 3\n5\n");
}

TEST_F(ShellTest, RunsACommandAsBashByItselfWould) {
  EXPECT_EQ(run("echo $#; echo \"$0\"; echo $LINENO").out, "0\nbash\n1\n");
  EXPECT_EQ(run("\n\nnosuchcommand").err, "bash: line 3: nosuchcommand: command not found\n");
  EXPECT_EQ(run("nosuchcommand").exit_code, 127);
  EXPECT_EQ(run("kill -TERM $BASHPID & wait $!").exit_code, 128 + SIGTERM);
  EXPECT_EQ(run("echo 1 # a comment").out, "1\n");
  EXPECT_EQ(run("echo 'é\"'\"$(printf '\\t')\\\\'\"").out, "é\"\t\\'\n");
  EXPECT_EQ(run("printf '%s' a\\").out, "a\\");
}

TEST_F(ShellTest, GoesOnAfterTextThatIsNotWhole) {  // 5
  mark();
  EXPECT_EQ(run("cat <<EOF\nin it\nEOF").out, "in it\n");
  EXPECT_EQ(run("cat <<EOF\nopen").out, "open\n");
  for (const char* command :
       {"echo 'open", "echo \"open", "echo $(open", "if true", "{ echo", "case x in", ")"}) {
    const auto ended = run(command);
    EXPECT_NE(ended.exit_code, 0) << command;
    EXPECT_THAT(ended.err, testing::ContainsRegex("syntax error|unexpected EOF")) << command;
    EXPECT_FALSE(ended.shell_exited) << command;
  }
  expect_same_shell();
}

TEST_F(ShellTest, SurvivesWhatReachesForItsLoop) {
  mark();
  for (const char* command :
       {"break",
        "continue",
        "while :; do break 2; done",
        "for i in 1; do continue 2; done",
        "return 3",
        "local x",
        "IFS=1",
        "IFS=6",
        "IFS=0123456789abcdef",
        "enable -n eval mapfile",
        "enable -n printf",
        "-x",
        "IFS=x; TMOUT=1; LC_ALL=C; set -C; set -f; shift; set -- a b",
        "unset IFS TMOUT; set +C +f; set --",
        "read() { echo mine; }; eval() { echo mine; }; printf() { echo mine; }; mapfile() { echo mine; }",
        "alias builtin=false while=false do=false eval=false; shopt -u expand_aliases",
        "unset -f read",
        "trap 'echo debug' DEBUG; trap 'echo error' ERR; trap 'echo back' RETURN; set -x -T -E",
        "false",
        "true",
        "trap - DEBUG ERR RETURN; set +xTE",
        "trap '' INT TERM PIPE; trap - INT TERM PIPE",
        "exec 2>&1",
        "exec >/dev/null; echo lost",
        "exec 3>&- 4>&-",
        "exec <&-",
        "set -o posix",
        "set +o posix",
        "ulimit -n 64",
        "exec -a x 2>/dev/null",
        "exec 10>x 12>y; exec 11>&-",
        "{ echo x; } 13>&- 14>&- 15>/dev/null",
        "ulimit -n 30"}) {
    EXPECT_FALSE(run(command).shell_exited) << command;
  }
  ::usleep(1'100'000);  // TMOUT, if it were still there
  EXPECT_EQ(run("echo whole").out, "whole\n");
  expect_same_shell();
}

TEST_F(ShellTest, ShowsNoneOfItsOwnStepsToTraps) {
  EXPECT_EQ(run("trap 'echo debug' DEBUG").out, "");
  EXPECT_EQ(run("true").out, "debug\n");
  EXPECT_EQ(run("trap - DEBUG").out, "debug\n");
  EXPECT_EQ(run("trap 'echo error' ERR; false").out, "error\n");
  EXPECT_EQ(run("trap - ERR; set -x").err, "");
  EXPECT_EQ(run("true").err, "++ true\n");
}

TEST_F(ShellTest, EndsWithACommandThatEndsIt) {  // 56
  struct {
    const char* command;
    int code;
  } const kEnds[] = {{"exit 42", 42},
                     {"exit", 0},
                     {"exec sleep 0.05", 0},
                     {"exec sh -c 'exit 7'", 7},
                     {"set -e; (exit 5); echo not reached", 5},
                     {"set -u; echo $unset", 127},
                     {"trap 'exit 9' EXIT; exit 1", 9},
                     {"f() { exit 11; }; f", 11},
                     {"echo ${x?no}", 127},
                     {"exec /nonexistent", 127}};
  for (const auto& [command, code] : kEnds) {
    mark();
    const auto ended = run(command);
    EXPECT_TRUE(ended.shell_exited) << command;
    EXPECT_EQ(ended.status, Status::Completed) << command;
    EXPECT_EQ(ended.exit_code, code) << command;
    expect_fresh_shell();
  }
}

TEST_F(ShellTest, AnswersTheSignalThatEndedIt) {
  const auto ended = run("echo before; kill -9 $$");
  EXPECT_EQ(ended.out, "before\n");
  EXPECT_EQ(ended.signal, "SIGKILL");
  EXPECT_EQ(ended.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(ended.shell_exited);
  expect_fresh_shell();
}

TEST_F(ShellTest, EndsAtWorstWhereACommandBreaksIt) {
  for (const char* command :
       {"for f in {0..99}; do eval \"exec $f>&-\"; done",
        "for f in {10..99}; do eval \"exec $f</dev/null\"; done", "builtin() { :; }", "readonly __roombox",
        "unset __roombox", "__roombox=(forged)", "shopt -s extdebug; trap false DEBUG", "set -n", "set -r",
        "enable -n mapfile", "break 9", "ulimit -n 10", "exec 0<&- 1>&- 2>&-; exit 1", "kill -STOP $$"}) {
    mark();
    run(command, 200ms);
    const auto next = run("echo works", 1s);  // by the same shell or, at the latest then, by another
    if (next.out != "works\n") {
      EXPECT_EQ(run("echo works").out, "works\n") << command;
    }
    run("exit");
  }
  expect_fresh_shell();
}

TEST_F(ShellTest, HasNothingOfACallComeOutOfAnother) {
  EXPECT_EQ(run("(sleep 0.2; echo late) & echo soon").out, "soon\nlate\n");  // held, as every execution is
  EXPECT_EQ(run("(while :; do echo noise; echo noise >&2; sleep 0.01; done) >/dev/null 2>&1 & echo hi").out,
            "hi\n");
  EXPECT_EQ(run("echo only this").out, "only this\n");
  const auto ended = run("(while :; do echo noise; sleep 0.01; done) & sleep 0.05", 300ms);
  EXPECT_EQ(ended.status, Status::Timeout);
  EXPECT_THAT(ended.out, HasSubstr("noise\n"));
  EXPECT_TRUE(ended.shell_exited);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run("printf .").out, ".");
}

TEST_F(ShellTest, LosesNoByteOfEitherStream) {
  EXPECT_EQ(run("printf 'a\\0b\\033\\377\\n\\n'").out, std::string_view("a\0b\033\377\n\n", 7));
  const auto ended =
      run("head -c 1048576 /dev/zero | tr '\\0' a; head -c 1048576 /dev/zero | tr '\\0' b >&2");
  EXPECT_TRUE(ended.out == std::string(1 << 20, 'a')) << ended.out.size();
  EXPECT_TRUE(ended.err == std::string(1 << 20, 'b')) << ended.err.size();
  EXPECT_FALSE(ended.truncated);
  EXPECT_TRUE(run("seq 1 1000000").truncated);
  EXPECT_EQ(run("echo next").out, "next\n");
}

TEST_F(ShellTest, TakesTheLongestCommand) {
  const std::string word(limits::kCommand - 32, 'w');
  EXPECT_EQ(run("x=" + word + "; echo ${#x}").out, std::to_string(word.size()) + "\n");
  EXPECT_EQ(run("echo ${#x}").out, std::to_string(word.size()) + "\n");
}

TEST_F(ShellTest, GivesACallItsOwnInput) {
  EXPECT_EQ(run("cat; read x; echo $?").out, "1\n");
  EXPECT_EQ(run_with_input("cat", std::string("a\0\n", 3)).out, std::string("a\0\n", 3));
  EXPECT_EQ(run_with_input("wc -c", std::string(limits::kStdin, 'x')).out,
            std::to_string(limits::kStdin) + "\n");
  EXPECT_EQ(run_with_input("read x; echo $x", "first\nunread\n").out, "first\n");
  EXPECT_EQ(run_with_input("true", std::string(300'000, 'x')).exit_code, 0);
  EXPECT_EQ(run_with_input("cat", "second").out, "second");
  EXPECT_EQ(run_with_input("cat", "").out, "");
  EXPECT_EQ(run("cat").out, "");
}

TEST_F(ShellTest, RefusesInputThatAnEarlierCallWouldRead) {
  run_with_input("sleep 60 <&0 >/dev/null 2>&1 &", "x");
  const auto refused = run_with_input("cat", "mine");
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, ErrorCode::Conflict);
  EXPECT_THAT(refused.error->message, HasSubstr("stdin"));
  EXPECT_EQ(run("kill %1; wait %1; true").exit_code, 0);
  EXPECT_EQ(run_with_input("cat", "mine").out, "mine");
}

TEST_F(ShellTest, HidesItsDescriptors) {
  EXPECT_EQ(run("ls /proc/self/fd").out, "0\n1\n2\n3\n");  // 3 is ls's own
  EXPECT_EQ(run("sleep 60 >/dev/null 2>&1 & until grep -q '(sleep) S' /proc/$!/stat; do :; done; ls "
                "/proc/$!/fd; kill $!")
                .out,
            "0\n1\n2\n");
  for (int number = limits::kInherited; number < limits::kInheritedEnd; ++number)
    EXPECT_NE(run("echo x >&" + std::to_string(number)).exit_code, 0);
}

TEST_F(ShellTest, TakesNoReportButItsOwnShells) {
  // A child of the first call that has all that its shell has, and reports for whatever call there is.
  run("(while sleep 0.01; do for f in {10..30}; do echo \"${__roombox-} 99\" >&$f; echo 'begun 98' >&$f; "
      "done; "
      "done) >/dev/null 2>&1 &");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run("sleep 0.02; (exit 4)").exit_code, 4);
  // The shell itself, ahead of time: it cannot know the next call's token.
  run("for f in {10..30}; do echo '0123456789abcdef 97' >&$f; done 2>/dev/null; sleep 0.05");
  EXPECT_EQ(run("sleep 0.05; (exit 5)").exit_code, 5);
  EXPECT_EQ(run("echo ${__roombox[0]} 0; echo \"begun 0\"; (exit 6)").exit_code, 6);
}

TEST_F(ShellTest, RunsOneCommandAtATimeInOrder) {
  std::vector<std::optional<Ended>> ended(50);
  for (std::size_t i = 0; i < ended.size(); ++i)
    start(request("n=$((${n:--1} + 1)); sleep 0.00$((RANDOM % 5)); echo $n"), ended[i]);
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(ended.begin(), ended.end(), [](auto& e) { return e.has_value(); }); }));
  for (std::size_t i = 0; i < ended.size(); ++i) EXPECT_EQ(ended[i]->out, std::to_string(i) + "\n");
}

TEST_F(ShellTest, LetsShellsRunBesideEachOther) {
  std::optional<Ended> slow, quick;
  start(request("mine=1; sleep 0.5; echo $mine", "slow"), slow);
  start(request("echo ${mine-none}", "quick"), quick);
  ASSERT_TRUE(run_until([&] { return quick.has_value(); }));
  EXPECT_FALSE(slow);
  EXPECT_EQ(quick->out, "none\n");
  ASSERT_TRUE(run_until([&] { return slow.has_value(); }));
}

TEST_F(ShellTest, KillsAShellWithItsWholeTreeAtATimeout) {
  mark();
  const auto ended =
      run("setsid sleep 61 & sleep 62 >/dev/null 2>&1 & echo $! >&2; echo before; sleep 63", 300ms);
  EXPECT_EQ(ended.status, Status::Timeout);
  EXPECT_EQ(ended.exit_code, 124);
  EXPECT_EQ(ended.out, "before\n");
  EXPECT_TRUE(ended.shell_exited);
  EXPECT_LT(ended.took, 1s);
  EXPECT_EQ(::kill(std::stoi(ended.err), 0), -1) << "it survived";
  expect_fresh_shell();
}

TEST_F(ShellTest, KillsItByItsMarkToo) {
  engine_.reset();
  start_engine(default_shell(), limits::kShellIdle, KillMethod::Mark);
  mark();
  run("setsid sleep 64 >/dev/null 2>&1 & echo $! >pid");
  EXPECT_EQ(run("sleep 65", 100ms).status, Status::Timeout);
  const auto ended = run("kill -0 $(cat pid)");
  EXPECT_NE(ended.exit_code, 0) << "it survived, though of an earlier call";
  expect_fresh_shell();
}

TEST_F(ShellTest, TimesOutWhileWaitingWithoutHarmToWhoRuns) {
  mark();
  std::optional<Ended> running, waiting, after;
  start(request("sleep 0.5; echo done"), running);
  auto impatient = request("echo never");
  impatient.timeout = 100ms;
  start(std::move(impatient), waiting);
  start(request("echo after"), after);
  ASSERT_TRUE(run_until([&] { return waiting.has_value(); }));
  EXPECT_FALSE(running);
  EXPECT_EQ(waiting->status, Status::Timeout);
  EXPECT_EQ(waiting->exit_code, 124);
  EXPECT_EQ(waiting->out, "");
  EXPECT_FALSE(waiting->shell_exited);
  ASSERT_TRUE(run_until([&] { return after.has_value(); }));
  EXPECT_EQ(running->out, "done\n");
  EXPECT_EQ(after->out, "after\n");
  expect_same_shell();
}

TEST_F(ShellTest, CancelsWhoRunsAndWhoWaits) {
  std::optional<Ended> running, waiting, after;
  auto first = start(request("echo begun; sleep 60"), running);
  auto second = start(request("echo never"), waiting);
  start(request("echo after"), after);
  ASSERT_TRUE(run_until([&] { return first->view().out == "begun\n"; }));
  second->signal(SIGTERM);
  first->signal(SIGKILL);
  ASSERT_TRUE(run_until([&] { return running && waiting && after; }));
  EXPECT_EQ(waiting->status, Status::Cancelled);
  EXPECT_FALSE(waiting->shell_exited);
  EXPECT_EQ(running->status, Status::Cancelled);
  EXPECT_EQ(running->exit_code, 128 + SIGKILL);
  EXPECT_TRUE(running->shell_exited);
  EXPECT_EQ(after->out, "after\n");
}

TEST_F(ShellTest, PassesASignalOn) {
  std::optional<Ended> ended;
  auto execution = start(request("sleep 60 & echo begun; wait"), ended);
  ASSERT_TRUE(run_until([&] { return execution->view().out == "begun\n"; }));
  execution->signal(SIGTERM);
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->status, Status::Cancelled);
  EXPECT_TRUE(ended->shell_exited);
  expect_fresh_shell();
}

TEST_F(ShellTest, StartsAFreshShellAfterOneThatDiedBetweenCalls) {
  mark();
  run("(sleep 0.1; kill -9 $$) >/dev/null 2>&1 &");
  ASSERT_FALSE(run_until([] { return false; }, 300ms));
  expect_fresh_shell();
}

TEST_F(ShellTest, KeepsAFewShellsOnly) {
  std::vector<std::optional<Ended>> ended(50);
  for (std::size_t i = 0; i < ended.size(); ++i) start(request("echo ok", "s" + std::to_string(i)), ended[i]);
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(ended.begin(), ended.end(), [](auto& e) { return e.has_value(); }); }));
  for (std::size_t i = 0; i < ended.size(); ++i) {
    ASSERT_EQ(ended[i]->error.has_value(), i >= limits::kShells) << i;
    if (i < limits::kShells) {
      EXPECT_EQ(ended[i]->out, "ok\n");
    } else {
      EXPECT_EQ(ended[i]->error->code, ErrorCode::TooManyRequests);
      EXPECT_THAT(ended[i]->error->message, HasSubstr("32 persistent shells"));
    }
  }
  run(request("exit", "s0"));
  EXPECT_EQ(run(request("echo ok", "s40")).out, "ok\n");
}

TEST_F(ShellTest, EndsAShellThatNobodyUses) {
  engine_.reset();
  start_engine(default_shell(), 200ms);
  mark();
  const auto kept = run("sleep 60 >/dev/null 2>&1 & echo $!").out;
  EXPECT_EQ(run("trap 'echo bye >bye' EXIT; sleep 0.3; echo ${marked-no}").out,
            "yes\n");  // in use, however long
  EXPECT_TRUE(run_until([&] { return std::filesystem::exists(root_ + "/workspace/bye"); }, 2s));
  expect_fresh_shell();
  EXPECT_EQ(::kill(std::stoi(kept), SIGKILL), 0) << "what it left in the background was killed";
}

TEST_F(ShellTest, NeedsBash) {
  engine_.reset();
  start_engine("/bin/sh");
  const auto ended = run("echo hi");
  ASSERT_TRUE(ended.error);
  EXPECT_EQ(ended.error->code, ErrorCode::ExecutionFailed);
  EXPECT_THAT(ended.error->message, HasSubstr("need bash"));
  engine_.reset();
  start_engine("/nonexistent/bash");
  EXPECT_THAT(run("echo hi").error.value_or(Error{}).message, HasSubstr("cannot run /nonexistent/bash"));
}

TEST_F(ShellTest, LeavesNothingBehind) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  run("exit");
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) run(i % 2 == 0 ? "exit 1" : "echo x");
  for (int i = 0; i < 5; ++i) run("sleep 9", 20ms);
  for (int i = 0; i < 200; ++i) run("true");
  run_with_input("exit", "x");
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace roombox
