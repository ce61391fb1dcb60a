#include "wasm/protocol/signals.h"

#include <gtest/gtest.h>

#include <string>

namespace roombox {
namespace {

TEST(Signals, HaveNamesThatFindThem) {
  for (int number = kSignalMin; number <= kSignalMax; ++number) {
    EXPECT_TRUE(signal_name(number).starts_with("SIG"));
    EXPECT_EQ(signal_number(signal_name(number)), number);
  }
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(15), "SIGTERM");
  EXPECT_EQ(signal_name(31), "SIGSYS");
  EXPECT_EQ(signal_name(64), "SIG64");
  EXPECT_EQ(signal_name(0), "SIG?");
  EXPECT_EQ(signal_name(65), "SIG?");
}

TEST(Signals, AreFoundWithoutThePrefix) {
  EXPECT_EQ(signal_number("TERM"), 15);
  EXPECT_EQ(signal_number("HUP"), 1);
  EXPECT_EQ(signal_number("SIGIO"), 29);
  EXPECT_EQ(signal_number("IOT"), 6);
}

TEST(Signals, AreNoOthers) {
  for (std::string_view name : {"", "SIG", "sigterm", "SIGSIGTERM", "34", "9", "SIG9", "SIG034", "SIG65",
                                "SIG?", "SIGTERM ", "TER", "NONE"}) {
    EXPECT_EQ(signal_number(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace roombox
