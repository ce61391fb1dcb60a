#include "container/oom_counter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace roombox {
namespace {

TEST(OomCounter, ReadsEachOfTheKernelsTexts) {
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n"), 3u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"), 12u);
  EXPECT_EQ(parse_oom_kills("pgpgin 1\nnot_oom_kill 9\noom_kill 4\n"), 4u);
}

TEST(OomCounter, InventsNothing) {
  EXPECT_FALSE(parse_oom_kills(""));
  EXPECT_FALSE(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"));
  EXPECT_FALSE(parse_oom_kills("not_oom_kill 9\n"));
  EXPECT_FALSE(parse_oom_kills("oom_kill x\n"));
}

TEST(OomCounter, AsksTheCommandsOwnCgroupFirst) {
  const auto directory = std::filesystem::temp_directory_path() / ("oom" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "memory.events") << "oom 9\noom_kill 123456789\n";
  EXPECT_EQ(OomCounter(directory).count(), 123456789u);
  std::filesystem::remove_all(directory);
  EXPECT_NE(OomCounter(directory).count(), 123456789u);
}

}  // namespace
}  // namespace roombox
