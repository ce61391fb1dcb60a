#include "wasm/protocol/near_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace roombox {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"cmd", "cwd", "env", "timeout_ms"};
constexpr std::array<Alias, 1> kAliases = {{{"workdir", "cwd"}}};

std::string_view nearest(std::string_view given) {
  return nearest_name(given, kNames, kAliases);
}

TEST(NearestName, IgnoresCaseAndSeparators) {
  EXPECT_EQ(nearest("timeoutMs"), "timeout_ms");
  EXPECT_EQ(nearest("TIMEOUT-MS"), "timeout_ms");
  EXPECT_EQ(nearest("Cmd"), "cmd");
  EXPECT_EQ(nearest("work_dir"), "cwd");
}

TEST(NearestName, TakesSmallSlips) {
  EXPECT_EQ(nearest("tmeout_ms"), "timeout_ms");
  EXPECT_EQ(nearest("timeout_m"), "timeout_ms");
  EXPECT_EQ(nearest("envs"), "env");
  EXPECT_EQ(nearest("cm"), "cmd");
}

TEST(NearestName, TakesTheNearer) {
  EXPECT_EQ(nearest("cwdd"), "cwd");
  EXPECT_EQ(nearest("cxd"), "cmd");  // of two that are as near, the first
}

TEST(NearestName, KeepsSilentOnOthers) {
  for (std::string_view other : {"", "_", "x", "stdin", "colour", "timeout_seconds"}) {
    EXPECT_EQ(nearest(other), "") << other;
  }
  EXPECT_EQ(nearest(std::string(1u << 20, 'c')), "");
  EXPECT_EQ(nearest("cmd" + std::string(1000, '_')), "cmd");
}

}  // namespace
}  // namespace roombox
