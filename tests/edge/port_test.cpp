#include "wasm/protocol/port.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/edge/faults.h"

namespace roombox {
namespace {

/// The port, or the faults.
std::string asked(std::string_view body) {
  const auto parsed = parse_port_request(body);
  return parsed ? std::to_string(*parsed) : lines_of(parsed.error());
}

TEST(PortRequest, TakesAPort) {
  EXPECT_EQ(asked(R"({"port":3000})"), "3000");
  EXPECT_EQ(asked(R"({"port":1})"), "1");
  EXPECT_EQ(asked(R"({"port":6.5535e4})"), "65535");
}

TEST(PortRequest, RefusesOthers) {
  EXPECT_EQ(asked("{}"), "port: Invalid input: expected number, received undefined\n");
  EXPECT_EQ(asked(R"({"port":0})"), "port: Too small: expected number to be >=1\n");
  EXPECT_EQ(asked(R"({"port":65536})"), "port: Too big: expected number to be <=65535\n");
  EXPECT_EQ(asked(R"({"port":73616})"), "port: Too big: expected number to be <=65535\n") << "8080 + 65536";
  EXPECT_EQ(asked(R"({"port":1.5})"), "port: Invalid input: expected int, received number\n");
  EXPECT_EQ(asked(R"({"port":8080})"), "port: Port 8080 is the sandbox's own\n");
  EXPECT_EQ(asked(R"({"port":3000,"ports":1})"),
            "ports: Unrecognized key: \"ports\". Did you mean \"port\"?\n");
  EXPECT_EQ(asked(""), "body: Invalid JSON at position 0: the body is empty\n");
}

}  // namespace
}  // namespace roombox
