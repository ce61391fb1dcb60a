#include "container/output_log.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

TEST(OutputLog, KeepsTheStreamsApart) {
  OutputLog log(100);
  log.append(Stream::Stdout, "out");
  log.append(Stream::Stderr, "err");
  log.append(Stream::Stdout, std::string_view("\0put", 4));
  EXPECT_EQ(log.stored(Stream::Stdout), std::string_view("out\0put", 7));
  EXPECT_EQ(log.stored(Stream::Stderr), "err");
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, HoldsExactlyItsCapWithoutBeingTruncated) {
  OutputLog log(4);
  log.append(Stream::Stdout, "abcd");
  EXPECT_EQ(log.stored(Stream::Stdout), "abcd");
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, KeepsAPrefixAndNothingAfterAGap) {
  OutputLog log(4);
  log.append(Stream::Stdout, "abc");
  log.append(Stream::Stdout, "def");
  log.append(Stream::Stdout, "g");
  EXPECT_EQ(log.stored(Stream::Stdout), "abcd");
  EXPECT_TRUE(log.truncated());
}

TEST(OutputLog, CapsEachStreamByItself) {
  OutputLog log(2);
  log.append(Stream::Stderr, "xyz");
  log.append(Stream::Stdout, "ab");
  EXPECT_EQ(log.stored(Stream::Stdout), "ab");
  EXPECT_EQ(log.stored(Stream::Stderr), "xy");
  EXPECT_TRUE(log.truncated());
}

}  // namespace
}  // namespace roombox
