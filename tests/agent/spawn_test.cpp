#include "container/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <numeric>

#include "container/limits.h"
#include "container/sys/file.h"
#include "tests/agent/shell_command.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

TEST(ShellArguments, AreThoseOfDashC) {
  EXPECT_THAT(shell_arguments("/bin/bash", "echo $0"), testing::ElementsAre("bash", "-c", "--", "echo $0"));
  EXPECT_THAT(shell_arguments("/bin/sh", "true"), testing::ElementsAre("sh", "-c", "--", "true"));
}

TEST(ShellArguments, SplitATextThatIsTooLongForOne) {
  std::string command;
  while (command.size() < limits::kCommand) command += "é€😀x";
  const auto arguments = shell_arguments("/bin/bash", command);
  ASSERT_GT(arguments.size(), 5u);
  EXPECT_EQ(arguments[3], "bash");  // $0
  for (const auto& argument : arguments) {
    EXPECT_LE(argument.size(), limits::kArgument);
    EXPECT_NE(static_cast<unsigned char>(argument[0]) & 0xC0, 0x80) << "begins inside a character";
  }
  EXPECT_EQ(std::accumulate(arguments.begin() + 4, arguments.end(), std::string()), command);
}

TEST(ShellArguments, TakeTheLongestSingleArgumentWhole) {
  EXPECT_EQ(shell_arguments("/bin/sh", std::string(limits::kArgument, 'x')).size(), 4u);
  EXPECT_EQ(shell_arguments("/bin/sh", std::string(limits::kArgument + 1, 'x')).size(), 6u);
}

class SpawnTest : public testing::Test {
 protected:
  ShellCommand& run(
      const std::string& command, const std::function<void(SpawnRequest&)>& adjust = [](SpawnRequest&) {}) {
    command_.emplace(io_, reaper_, trees_, account_, command, adjust);
    return *command_;
  }
  std::string output(
      const std::string& command, const std::function<void(SpawnRequest&)>& adjust = [](SpawnRequest&) {}) {
    auto& started = run(command, adjust);
    EXPECT_TRUE(run_until(io_, [&] { return started.exit && started.out_ended; }));
    return started.out;
  }
  static bool is_launched(const ShellCommand& command, int patience_ms) {
    pollfd launched{command.spawned->launched.get(), POLLIN, 0};
    return ::poll(&launched, 1, patience_ms) == 1;
  }

  Account account_{"hog", 54321, 54321, "/tmp"};
  asio::io_context io_{1};
  Reaper reaper_{io_};
  ProcessTrees trees_{io_, KillMethod::Mark, sys::read_file("/proc/self/gid_map"), 1};
  std::optional<ShellCommand> command_;
};

TEST_F(SpawnTest, TellsWhenTheCommandIsLaunched) {
  auto& started = run("read", [](SpawnRequest& request) { request.stdin_kind = Stdin::Pipe; });
  ASSERT_TRUE(is_launched(started, 60'000));
  EXPECT_FALSE(launch_failure(*started.spawned->launch));
  EXPECT_THAT(sys::read_file("/proc/" + std::to_string(started.spawned->pid) + "/cmdline"),
              testing::StartsWith("bash"));
  started.spawned->launch.reset();  // the command lives on without
  started.spawned->in.reset();
  ASSERT_TRUE(run_until(io_, [&] { return started.exit.has_value(); }));
  EXPECT_EQ(started.exit->code, 1);
}

TEST_F(SpawnTest, TellsWhyACommandIsNotLaunchedBeforeItIsReaped) {
  auto& nowhere = run("true", [](SpawnRequest& request) { request.directory = "/nowhere"; });
  ASSERT_TRUE(is_launched(nowhere, 60'000));
  const auto failure = launch_failure(*nowhere.spawned->launch);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->step, LaunchFailure::Step::Directory);
  EXPECT_EQ(failure->number, ENOENT);
  EXPECT_FALSE(nowhere.exit);
  ASSERT_TRUE(run_until(io_, [&] { return nowhere.exit.has_value(); }));

  auto& no_shell = run("true", [](SpawnRequest& request) { request.shell = "/no/shell"; });
  ASSERT_TRUE(is_launched(no_shell, 60'000));
  EXPECT_EQ(launch_failure(*no_shell.spawned->launch)->step, LaunchFailure::Step::Shell);
  ASSERT_TRUE(run_until(io_, [&] { return no_shell.exit.has_value(); }));
}

TEST_F(SpawnTest, GivesAPipeToWriteItsStdinTo) {  // 45
  auto& started = run("wc -c", [](SpawnRequest& request) { request.stdin_kind = Stdin::Pipe; });
  ASSERT_TRUE(started.spawned->in);
  EXPECT_TRUE(::fcntl(started.spawned->in.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(::fcntl(started.spawned->in.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(::write(started.spawned->in.get(), "12345", 5), 5);
  started.spawned->in.reset();
  ASSERT_TRUE(run_until(io_, [&] { return started.exit && started.out_ended; }));
  EXPECT_EQ(started.out, "5\n");
}

TEST_F(SpawnTest, GivesThatPipeToNoOtherCommand) {
  ShellCommand first(io_, reaper_, trees_, account_, "cat",
                     [](SpawnRequest& request) { request.stdin_kind = Stdin::Pipe; });
  auto& second = run("sleep 60");
  ASSERT_TRUE(is_launched(second, 60'000));
  first.spawned->in.reset();
  EXPECT_TRUE(run_until(io_, [&] { return first.exit.has_value(); })) << "another holds its stdin open";
  reaper_.signal(second.spawned->pid, SIGKILL);
  ASSERT_TRUE(run_until(io_, [&] { return second.exit.has_value(); }));
}

TEST_F(SpawnTest, HoldsACommandToItsLimits) {
  const auto limits = command_limits();
  const auto kib = std::to_string(limits.data.rlim_cur >> 10);
  EXPECT_EQ(output("ulimit -u; ulimit -Hu; ulimit -d"), std::to_string(limits.processes.rlim_cur) + "\n" +
                                                            std::to_string(limits.processes.rlim_max) + "\n" +
                                                            kib + "\n");
  EXPECT_EQ(output("ulimit -u 5000 2>/dev/null || echo refused"), "refused\n");
}

TEST_F(SpawnTest, LetsAHogMeetItsLimit) {
  const auto small = [](SpawnRequest& request) { request.limits.data.rlim_cur = 256 << 20; };
  EXPECT_EQ(output("python3 -c 'b\"x\" * (1 << 30)' 2>&1 | tail -1; echo ok", small), "MemoryError\nok\n");
}

TEST_F(SpawnTest, RefusesProcessesWithinTheCommandAlone) {
  const auto few = [](SpawnRequest& request) { request.limits.processes = {1, 1}; };
  EXPECT_EQ(output("exec python3 -c 'import os,errno\ntry: os.fork()\nexcept OSError as e: "
                   "print(errno.errorcode[e.errno])'",
                   few),
            "EAGAIN\n");
  EXPECT_EQ(output("sh -c 'echo ok'"), "ok\n");
}

TEST_F(SpawnTest, OffersTheCommandAloneToTheOomKiller) {
  const auto own = sys::read_file("/proc/self/oom_score_adj");
  auto& started = run("read; cat /proc/self/oom_score_adj",
                      [](SpawnRequest& request) { request.stdin_kind = Stdin::Pipe; });
  ASSERT_TRUE(is_launched(started, 60'000));
  offer_to_oom_killer(started.spawned->pid);
  started.spawned->in.reset();
  ASSERT_TRUE(run_until(io_, [&] { return started.exit && started.out_ended; }));
  EXPECT_EQ(std::stoi(started.out), std::min(std::stoi(own) + limits::kOomScoreAdjustment, 1000));
  EXPECT_EQ(sys::read_file("/proc/self/oom_score_adj"), own);
}

}  // namespace
}  // namespace roombox
