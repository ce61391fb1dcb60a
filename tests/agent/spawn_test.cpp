#include "container/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "container/limits.h"
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
    EXPECT_LT(argument.size(), limits::kArgument);
    EXPECT_NE(static_cast<unsigned char>(argument[0]) & 0xC0, 0x80) << "begins inside a character";
  }
  EXPECT_EQ(std::accumulate(arguments.begin() + 4, arguments.end(), std::string()), command);
}

TEST(ShellArguments, TakeTheLongestSingleArgumentWhole) {
  EXPECT_EQ(shell_arguments("/bin/sh", std::string(limits::kArgument - 1, 'x')).size(), 4u);
  EXPECT_EQ(shell_arguments("/bin/sh", std::string(limits::kArgument, 'x')).size(), 6u);
}

}  // namespace
}  // namespace roombox
