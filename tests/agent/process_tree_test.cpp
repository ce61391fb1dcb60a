#include "container/process_tree.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

std::string status(std::string_view state, std::string_view groups, int threads) {
  return "Name:\tx\nState:\t" + std::string(state) + "\nTgid:\t7\nGroups:\t" + std::string(groups) +
         " \nVmPeak:\t1 kB\nThreads:\t" + std::to_string(threads) + "\nSigQ:\t0/1\n";
}

TEST(ProcessTree, KnowsAProcessByItsMark) {
  EXPECT_TRUE(is_alive_with_mark(status("S (sleeping)", "1000 268435456", 1), 268435456));
  EXPECT_TRUE(is_alive_with_mark(status("T (stopped)", "268435456", 1), 268435456));
  EXPECT_FALSE(is_alive_with_mark(status("S (sleeping)", "1000 2684354560", 1), 268435456));
  EXPECT_FALSE(is_alive_with_mark(status("S (sleeping)", "", 1), 268435456));
  EXPECT_FALSE(is_alive_with_mark("", 268435456));
}

TEST(ProcessTree, IsNotFooledByAProcessName) {
  EXPECT_FALSE(is_alive_with_mark("Name:\tGroups:\t5\nState:\tS (sleeping)\nGroups:\t6 \nThreads:\t1\n", 5));
}

TEST(ProcessTree, CountsAZombieAsDeadUnlessItsThreadsRunOn) {
  EXPECT_FALSE(is_alive_with_mark(status("Z (zombie)", "5", 1), 5));
  EXPECT_TRUE(is_alive_with_mark(status("Z (zombie)", "5", 3), 5));
}

TEST(MarkRange, TakesTheUpperPartOfAFullMapping) {
  MarkRange marks("         0          0 4294967295\n", 0);
  EXPECT_EQ(marks.next(), 0x1000'0000u);
  EXPECT_EQ(marks.next(), 0x1000'0001u);
}

TEST(MarkRange, StaysInsideASmallMappingAndComesAround) {
  MarkRange marks("0 100000 1\n1 200000 8\n", 4 * 7);  // ids 0 to 8
  EXPECT_EQ(marks.next(), 5u);
  EXPECT_EQ(marks.next(), 6u);
  EXPECT_EQ(marks.next(), 7u);
  EXPECT_EQ(marks.next(), 8u);
  EXPECT_EQ(marks.next(), 5u);
}

TEST(MarkRange, BeginsWhereItIsTold) {
  EXPECT_EQ(MarkRange("0 0 4294967295\n", 77).next(), 0x1000'0000u + 77);
  EXPECT_EQ(MarkRange("0 0 8\n", 4 * 100 + 2).next(), 6u);  // of 4 to 7
  MarkRange full("0 0 4294967295\n", 0xffff'ffff);
  EXPECT_GE(full.next(), 0x1000'0000u);
}

TEST(MarkRange, RefusesAMappingWithoutRoom) {
  EXPECT_THROW(MarkRange("", 0), std::runtime_error);
  EXPECT_THROW(MarkRange("0 1000 1\n", 0), std::runtime_error);
}

}  // namespace
}  // namespace roombox
