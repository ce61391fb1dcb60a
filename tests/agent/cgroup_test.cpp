#include "container/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "container/limits.h"
#include "container/sys/file.h"
#include "tests/agent/shell_command.h"

namespace roombox {
namespace {

constexpr char kMounts[] =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "40 30 0:37 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kPart[] = "40 30 0:37 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";

TEST(OwnCgroup, IsFoundBelowTheMount) {
  EXPECT_EQ(own_cgroup(kMounts, "0::/\n"), "/sys/fs/cgroup");
  EXPECT_EQ(own_cgroup(kMounts, "4:memory:/x\n0::/system.slice/a.service\n"),
            "/sys/fs/cgroup/system.slice/a.service");
}

TEST(OwnCgroup, IsFoundInAMountOfAPart) {
  EXPECT_EQ(own_cgroup(kPart, "0::/docker/abc\n"), "/sys/fs/cgroup");
  EXPECT_EQ(own_cgroup(kPart, "0::/docker/abc/agent\n"), "/sys/fs/cgroup/agent");
}

TEST(OwnCgroup, IsNotInvented) {
  EXPECT_FALSE(own_cgroup(kPart, "0::/docker/abcd\n"));
  EXPECT_FALSE(own_cgroup(kPart, "0::/\n"));
  EXPECT_FALSE(own_cgroup(kMounts, "0::/../outside\n"));
  EXPECT_FALSE(own_cgroup(kMounts, "1:cpu:/x\n"));
  EXPECT_FALSE(own_cgroup("40 30 0:37 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "0::/\n"));
  EXPECT_FALSE(own_cgroup("", ""));
}

/// On the machine's own hierarchy.
class CgroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto parent =
        own_cgroup(sys::read_file("/proc/self/mountinfo"), sys::read_file("/proc/self/cgroup"));
    if (!parent) GTEST_SKIP() << "no cgroup v2 is mounted";
    parent_ = *parent;
    cgroups_ = open(seed());
    if (!cgroups_) GTEST_SKIP() << "no cgroup can be made: " << why_;
  }

  static std::uint32_t seed() {
    static std::uint32_t count = 0;
    return static_cast<std::uint32_t>(::getpid()) * 1000 + ++count;
  }

  std::shared_ptr<Cgroups> open(std::uint32_t random) { return Cgroups::open(io_, parent_, random, why_); }

  std::size_t directories() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cgroups_->path()))
      count += entry.is_directory();
    return count;
  }

  asio::io_context io_{1};
  std::string parent_, why_;
  std::shared_ptr<Cgroups> cgroups_;
};

TEST_F(CgroupsTest, AreUsedAgain) {
  auto first = cgroups_->take();
  auto second = cgroups_->take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(directories(), 2u);
  const auto* kept = second.get();
  cgroups_->put_back(std::move(first));
  cgroups_->put_back(std::move(second));
  EXPECT_EQ(cgroups_->take().get(), kept);
}

TEST_F(CgroupsTest, AreRenewedOnceKilled) {
  auto killed = cgroups_->take();
  ASSERT_TRUE(killed);
  const auto inode = [](int directory) {
    struct stat status {};
    ::fstat(directory, &status);
    return status.st_ino;
  };
  const auto before = inode(killed->directory());
  ASSERT_TRUE(killed->kill());
  cgroups_->put_back(std::move(killed));
  EXPECT_EQ(directories(), 1u);
  const auto renewed = cgroups_->take();
  EXPECT_EQ(directories(), 1u) << "what has the caps was not used again";
  EXPECT_NE(inode(renewed->directory()), before) << "what was killed was used again";
}

TEST_F(CgroupsTest, ThatCannotBeRenewedAreGivenUp) {
  auto killed = cgroups_->take();
  ASSERT_TRUE(killed && killed->kill());
  const auto outer = cgroups_->path() + "/1", below = outer + "/run/below";
  ASSERT_EQ(::mkdir(below.c_str(), 0755), 0);
  cgroups_->put_back(std::move(killed));
  const auto next = cgroups_->take();
  ASSERT_TRUE(next);
  EXPECT_EQ(directories(), 2u);
  for (const auto& left : {below, outer + "/run", outer}) EXPECT_EQ(::rmdir(left.c_str()), 0);
}

TEST_F(CgroupsTest, AreKeptInBoundedNumber) {
  std::vector<std::unique_ptr<Cgroup>> many;
  for (std::size_t i = 0; i < limits::kSpareCgroups + 20; ++i) many.push_back(cgroups_->take());
  for (auto& one : many) cgroups_->put_back(std::move(one));
  EXPECT_EQ(directories(), limits::kSpareCgroups);
}

TEST_F(CgroupsTest, LeaveNothingBehind) {
  const auto path = cgroups_->path();
  auto borrowed = cgroups_->take();
  cgroups_->close();
  cgroups_->put_back(std::move(borrowed));
  cgroups_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(CgroupsTest, RemoveWhatAnAgentBeforeLeftAndNothingInUse) {
  char name[32];
  std::snprintf(name, sizeof name, "/roombox-%08x", seed());
  const auto stale = parent_ + name, foreign = parent_ + "/roombox-other-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(stale.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(foreign.c_str(), 0755), 0);
  for (const char* left : {"/1", "/1/run", "/2"}) ASSERT_EQ(::mkdir((stale + left).c_str(), 0755), 0);
  const auto another = open(seed());
  ASSERT_TRUE(another) << why_;
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_EQ(::rmdir(foreign.c_str()), 0) << "what is none of ours was removed";
  EXPECT_TRUE(std::filesystem::exists(cgroups_->path()));
  EXPECT_TRUE(cgroups_->take());
}

TEST_F(CgroupsTest, AreConfinedByTheControllersThatThereAre) {
  cgroups_->put_back(cgroups_->take());
  cgroups_->confine({777, 1u << 30}, {700, 1u << 29});
  const auto spare = cgroups_->take(), made = cgroups_->take();
  ASSERT_TRUE(spare && made);
  for (const auto& [file, value] :
       {std::pair{"/pids.max", "777\n"}, std::pair{"/memory.max", "1073741824\n"},
        std::pair{"/1/pids.max", "700\n"}, std::pair{"/1/memory.max", "536870912\n"},
        std::pair{"/2/pids.max", "700\n"}, std::pair{"/2/memory.max", "536870912\n"}}) {
    if (!std::filesystem::exists(cgroups_->path() + file)) continue;
    EXPECT_EQ(sys::read_file(cgroups_->path() + file), value) << file;
  }
  // What has the processes has no controllers: above it there are some, and then none may have any.
  EXPECT_FALSE(std::filesystem::exists(cgroups_->path() + "/2/run/memory.max"));
}

TEST_F(CgroupsTest, SayWhyTheyCannotBe) {
  EXPECT_FALSE(Cgroups::open(io_, "/nowhere", 1, why_));
  EXPECT_THAT(why_, testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(Cgroups::open(io_, "/proc", 1, why_));
  EXPECT_FALSE(Cgroups::open(io_, "/tmp", 1, why_)) << "an ordinary directory was taken for a cgroup";
}

/// With commands in them.
class CgroupTreesTest : public CgroupsTest {
 protected:
  void SetUp() override {
    CgroupsTest::SetUp();
    if (!IsSkipped()) trees_.emplace(io_, KillMethod::Cgroup, sys::read_file("/proc/self/gid_map"), seed());
  }

  std::unique_ptr<ShellCommand> run(const std::string& command) {
    auto started = std::make_unique<ShellCommand>(io_, reaper_, *trees_, account_, command);
    EXPECT_TRUE(run_until(io_, [&] { return started->exit && started->out_ended; }));
    return started;
  }

  std::size_t directories() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(trees_->cgroup_path()))
      count += entry.is_directory();
    return count;
  }

  Account account_{"hog", 54321, 54321, "/tmp"};
  Reaper reaper_{io_};
  std::optional<ProcessTrees> trees_;
};

TEST_F(CgroupTreesTest, AChildIsBornIntoItsOwn) {
  EXPECT_THAT(run("grep ^0: /proc/self/cgroup")->out,
              testing::HasSubstr(std::filesystem::path(trees_->cgroup_path()).filename().string() + "/"));
}

TEST_F(CgroupTreesTest, ACommandCannotLeaveItsOwn) {
  const auto path = trees_->cgroup_path();
  const auto tried =
      run("for at in " + parent_ + " " + path + " " + path + "/*/ " + path +
          "/*/run; do (echo 0 > $at/cgroup.procs) 2>/dev/null && echo left; mkdir $at/own 2>/dev/null "
          "&& echo made; (echo 1 > $at/cgroup.kill) 2>/dev/null && echo killed; done; echo tried");
  EXPECT_EQ(tried->out, "tried\n");
}

TEST_F(CgroupTreesTest, OneThatStillHasProcessesIsNotUsedUntilTheyHaveEnded) {
  auto started = run("sleep 60 >/dev/null 2>&1 & echo $!");
  const pid_t left = std::stoi(started->out);
  const auto before = directories();
  started->tree = Tree();
  EXPECT_EQ(trees_->lingering(), 1u);
  const auto next = trees_->begin();
  EXPECT_EQ(directories(), before + 1) << "a cgroup with a process in it was used again";
  ::kill(left, SIGKILL);
  ASSERT_TRUE(run_until(io_, [&] { return trees_->lingering() == 0; }));
  const auto last = trees_->begin();
  EXPECT_EQ(directories(), before + 1) << "a cgroup that is empty now was not";
}

TEST_F(CgroupTreesTest, OneThatWasRemovedIsDoneWithout) {
  std::unique_ptr<ShellCommand> started(new ShellCommand(
      io_, reaper_, *trees_, account_, "sleep 60 & echo ready; wait", [&](SpawnRequest& request) {
        for (const auto& entry : std::filesystem::directory_iterator(trees_->cgroup_path()))
          if (entry.is_directory()) ::rmdir((entry.path() / "run").c_str());
        EXPECT_GE(request.tree->cgroup_directory(), 0);
      }));
  EXPECT_EQ(started->tree.cgroup_directory(), -1);
  ASSERT_TRUE(run_until(io_, [&] { return started->out == "ready\n"; }));
  std::optional<TreeDeath> death;
  trees_->kill(started->tree, [&](TreeDeath how) { death = how; });
  ASSERT_TRUE(run_until(io_, [&] { return death && started->exit; }));
  EXPECT_EQ(death, TreeDeath::Complete);
}

}  // namespace
}  // namespace roombox
