#include "container/oom_counter.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace roombox
