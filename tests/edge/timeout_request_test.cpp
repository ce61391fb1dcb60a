#include "wasm/protocol/timeout_request.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/edge/faults.h"
#include "wasm/protocol/create_request.h"

namespace roombox {
namespace {

std::string told(std::optional<std::chrono::milliseconds> sleep_after) {
  return sleep_after ? std::to_string(sleep_after->count()) : "none";
}

/// The milliseconds, `none`, or the faults.
std::string asked(std::string_view body, Presence timeout) {
  const auto parsed = parse_timeout_request(body, timeout);
  return parsed ? told(*parsed) : lines_of(parsed.error());
}

std::string asked_to_create(std::string_view body, Dialect dialect) {
  const auto parsed = parse_create_request(body, dialect);
  return parsed ? told(parsed->sleep_after) : lines_of(parsed.error());
}

TEST(TimeoutRequest, CountsMillisecondsAlikeWhereverItComes) {
  struct Case {
    std::string_view number;
    std::string_view told;
  };
  constexpr Case kCases[] = {
      {"300", "300000"},
      {"1.5", "1500"},
      {"0", "0"},
      {"-0", "0"},
      {"0.0001", "1"},  // 0 is never, which is not what this asks for
      {"1e-300", "1"},
      {"2592000", "2592000000"},
      {"-1", "timeout: Too small: expected number to be >=0\n"},
      {"-1e300", "timeout: Too small: expected number to be >=0\n"},
      {"2592000.001", "timeout: Too big: expected number to be <=2592000\n"},
      {"1e308", "timeout: Too big: expected number to be <=2592000\n"},
      {"null", "timeout: Invalid input: expected number, received null\n"},
      {"[1]", "timeout: Invalid input: expected number, received array\n"},
  };
  for (const Case& c : kCases) {
    const std::string body = "{\"timeout\":" + std::string(c.number) + "}";
    EXPECT_EQ(asked(body, Presence::Required), c.told) << c.number;
    EXPECT_EQ(asked(body, Presence::Optional), c.told) << c.number;
    EXPECT_EQ(asked_to_create(body, Dialect::Sdk), c.told) << c.number;
  }
}

TEST(TimeoutRequest, MayBeAbsentWhereItIsOptional) {
  EXPECT_EQ(asked("", Presence::Optional), "none");
  EXPECT_EQ(asked("{}", Presence::Optional), "none");
  EXPECT_EQ(asked("{}", Presence::Required), "timeout: Invalid input: expected number, received undefined\n");
  EXPECT_EQ(asked("", Presence::Required), "body: Invalid JSON at position 0: the body is empty\n");
  EXPECT_EQ(asked_to_create("", Dialect::Sdk), "none");
  EXPECT_EQ(asked_to_create(R"({"metadata":{"timeout":5}})", Dialect::Sdk), "none");
}

TEST(TimeoutRequest, IsAllThatItsBodyHas) {
  EXPECT_EQ(asked(R"({"timeot":5})", Presence::Optional),
            "timeot: Unrecognized key: \"timeot\". Did you mean \"timeout\"?\n");
  EXPECT_EQ(asked(R"({"timeout":5,"timeout":6})", Presence::Required),
            "timeout: Duplicate key: \"timeout\"\n");
  EXPECT_EQ(asked_to_create(R"({"timeout":5})", Dialect::V1), "timeout: Unrecognized key: \"timeout\"\n");
}

}  // namespace
}  // namespace roombox
