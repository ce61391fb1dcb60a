#include "container/reaper.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace roombox {
namespace {

using namespace std::chrono_literals;

struct Child {
  pid_t pid;
  sys::Fd pidfd;
};

template <typename Body>
Child start_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return {pid, sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) == -1 && errno == ESRCH;
}

class ReaperTest : public testing::Test {
 protected:
  template <typename Condition>
  [[nodiscard]] bool run_until(Condition done) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!done() && std::chrono::steady_clock::now() < deadline) io_.run_one_for(1s);
    return done();
  }

  asio::io_context io_;
  Reaper reaper_{io_};
};

TEST_F(ReaperTest, ReportsAnExitCode) {
  std::optional<Exit> exit;
  auto child = start_child([] { ::_exit(42); });
  reaper_.watch(child.pid, std::move(child.pidfd), [&](Exit e) { exit = e; });
  ASSERT_TRUE(run_until([&] { return exit.has_value(); }));
  EXPECT_EQ(exit->code, 42);
  EXPECT_FALSE(exit->signal);
}

TEST_F(ReaperTest, ReportsASignal) {
  std::optional<Exit> exit;
  auto child = start_child([] { ::pause(); });
  reaper_.watch(child.pid, std::move(child.pidfd), [&](Exit e) { exit = e; });
  reaper_.signal(child.pid, SIGKILL);
  ASSERT_TRUE(run_until([&] { return exit.has_value(); }));
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_FALSE(exit->code);
}

TEST_F(ReaperTest, SignalsNobodyOnceTheChildWasReaped) {
  bool ended = false;
  auto child = start_child([] {});
  reaper_.watch(child.pid, std::move(child.pidfd), [&](Exit) { ended = true; });
  ASSERT_TRUE(run_until([&] { return ended; }));
  // A stranger takes the pid over, as the kernel may let it: asked for by number, so no luck is needed.
  ::signal(SIGTERM, SIG_DFL);
  clone_args args{};
  pid_t wanted = child.pid;
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
  args.set_tid_size = 1;
  const auto stranger = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  if (stranger == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_EQ(stranger, child.pid) << "clone3 with set_tid";
  reaper_.signal(child.pid, SIGKILL);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "the stranger was hit";
  ::kill(stranger, SIGKILL);
  ASSERT_TRUE(run_until([&] { return is_gone(stranger); }));
}

TEST_F(ReaperTest, ReapsOrphansAndKeepsTheExitOfAWatchedChildThatEndsAmongThem) {
  constexpr int kOrphans = 10;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<std::optional<int>> codes(20);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    auto child = start_child([&] {
      for (int orphan = 0; orphan < kOrphans; ++orphan) {
        if (::fork() == 0) {
          const pid_t self = ::getpid();
          ::_exit(::write(ends[1], &self, sizeof self) == sizeof self ? 0 : 1);
        }
      }
      ::_exit(static_cast<int>(i));
    });
    reaper_.watch(child.pid, std::move(child.pidfd), [&codes, i](Exit exit) { codes[i] = exit.code; });
  }
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(codes.begin(), codes.end(), [](auto c) { return c.has_value(); }); }));
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], static_cast<int>(i));

  ::close(ends[1]);
  std::vector<pid_t> orphans;
  pid_t pid;
  while (::read(ends[0], &pid, sizeof pid) == sizeof pid) orphans.push_back(pid);
  ::close(ends[0]);
  EXPECT_EQ(orphans.size(), kOrphans * codes.size());
  EXPECT_TRUE(run_until([&] { return std::all_of(orphans.begin(), orphans.end(), is_gone); }));
}

}  // namespace
}  // namespace roombox
