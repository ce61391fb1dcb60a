#include "container/command_limits.h"

#include <gtest/gtest.h>

#include <limits>

#include "container/limits.h"

namespace roombox {
namespace {

constexpr CommandLimits kNone{{RLIM_INFINITY, RLIM_INFINITY}, {RLIM_INFINITY, RLIM_INFINITY}};
constexpr std::uint64_t kGib = 1u << 30;

TEST(CommandLimits, GrowWithTheMemoryWithinBounds) {
  EXPECT_EQ(limits_for_memory(64 * kGib, kNone).processes.rlim_cur, limits::kProcesses);
  EXPECT_EQ(limits_for_memory(kGib, kNone).processes.rlim_max, 2048u);
  EXPECT_EQ(limits_for_memory(1, kNone).processes.rlim_cur, limits::kLeastProcesses);
  EXPECT_EQ(limits_for_memory(10 * kGib, kNone).data.rlim_cur, 10 * kGib / 100 * 90);
  EXPECT_EQ(limits_for_memory(kGib / 4, kNone).data.rlim_cur, limits::kLeastData);
}

TEST(CommandLimits, NeverWidenThoseInForce) {  // the child could not set them
  const auto narrow = limits_for_memory(64 * kGib, {{10, 20}, {30, 40}});
  EXPECT_EQ(narrow.processes.rlim_max, 20u);
  EXPECT_EQ(narrow.processes.rlim_cur, 20u);
  EXPECT_EQ(narrow.data.rlim_max, 40u);
  EXPECT_EQ(narrow.data.rlim_cur, 40u);
}

TEST(CommandLimits, LeaveTheHardLimitOfDataToWhoMustMapMoreThanItUses) {
  EXPECT_EQ(limits_for_memory(kGib, kNone).data.rlim_max, RLIM_INFINITY);
}

TEST(SandboxMemory, IsReadFromEachOfTheKernelsTexts) {
  EXPECT_EQ(parse_memory_limit("268435456\n"), 268435456u);
  EXPECT_EQ(parse_memory_limit("max\n"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_memory_limit(""), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_mem_total("MemTotal:       24683620 kB\nMemFree: 1 kB\n"), 24683620u * 1024ull);
  EXPECT_EQ(parse_mem_total("MemFree: 1 kB\n"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_GT(sandbox_memory(), 0u);
  EXPECT_LT(sandbox_memory(), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace roombox
