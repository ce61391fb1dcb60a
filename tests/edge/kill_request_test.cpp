#include "wasm/protocol/kill_request.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/edge/faults.h"

namespace roombox {
namespace {

/// The signal, or the faults.
std::string asked(std::string_view body) {
  const auto parsed = parse_kill_request(body);
  return parsed ? std::to_string(parsed->signal) : lines_of(parsed.error());
}

TEST(KillRequest, IsSigkillUnlessItSaysOtherwise) {
  EXPECT_EQ(asked(""), "9");
  EXPECT_EQ(asked("{}"), "9");
  EXPECT_EQ(asked("\xEF\xBB\xBF {} "), "9");
}

TEST(KillRequest, TakesNamesAndNumbers) {
  EXPECT_EQ(asked(R"({"signal":"SIGTERM"})"), "15");
  EXPECT_EQ(asked(R"({"signal":"TERM"})"), "15");
  EXPECT_EQ(asked(R"({"signal":15})"), "15");
  EXPECT_EQ(asked(R"({"signal":1})"), "1");
  EXPECT_EQ(asked(R"({"signal":6.4e1})"), "64");
}

TEST(KillRequest, RefusesOthers) {
  const std::string unknown =
      "signal: Unknown signal: expected a name such as \"SIGTERM\" or a number from 1 to 64\n";
  for (const char* value : {"0", "65", "-1", "1.5", "1e300", "\"\"", "\"sigterm\"", "\"15\"", "null", "true",
                            "[9]", "{\"signal\":9}"}) {
    EXPECT_EQ(asked("{\"signal\":" + std::string(value) + "}"), unknown) << value;
  }
  EXPECT_EQ(asked(R"({"sig":9})"), "sig: Unrecognized key: \"sig\". Did you mean \"signal\"?\n");
  EXPECT_EQ(asked(R"({"signal":9,"signal":9})"), "signal: Duplicate key: \"signal\"\n");
  EXPECT_EQ(asked("[]"), "body: Invalid input: expected object, received array\n");
  EXPECT_EQ(asked(" "), "body: Invalid JSON at position 1: the text ends too early\n");
}

}  // namespace
}  // namespace roombox
