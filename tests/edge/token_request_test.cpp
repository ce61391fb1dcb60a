#include "wasm/protocol/token_request.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

using namespace std::chrono_literals;

std::string asked(std::string_view body) {
  const auto request = parse_token_request(body);
  if (request) return request->scopes + " " + std::to_string(request->lifetime.count());
  std::string faults;
  for (const FieldError& fault : request.error()) faults += fault.field + ": " + fault.message + "\n";
  return faults;
}

TEST(TokenRequest, TakesScopesOnceEachAndALifetime) {
  EXPECT_EQ(asked(R"({"scope":["exec"]})"), "exec 3600000");
  EXPECT_EQ(asked(R"({"scope":["read","exec","read"],"expires_in":1})"), "read,exec 1000");
  EXPECT_EQ(asked(R"({"scope":["exec","attach","files","ports","read","delete"],"expires_in":2592000})"),
            "exec,attach,files,ports,read,delete 2592000000");
}

TEST(TokenRequest, RefusesWhatIsNoScopeOrTooLong) {
  const std::string scope =
      "scope: Invalid option: expected some of \"exec\"|\"attach\"|\"files\"|\"ports\"|\"read\"|\"delete\"\n";
  for (std::string_view body : {R"({"scope":[]})", R"({"scope":["all"]})", R"({"scope":[1]})",
                                R"({"scope":["exec,read"]})", R"({"scope":["exec",null]})"}) {
    EXPECT_EQ(asked(body), scope) << body;
  }
  EXPECT_EQ(asked(R"({"scope":"exec"})"), "scope: Invalid input: expected array, received string\n");
  EXPECT_EQ(asked("{}"), "scope: Invalid input: expected array, received undefined\n");
  EXPECT_EQ(asked(R"({"scope":["exec"],"expires_in":0.5})"),
            "expires_in: Too small: expected number to be >=1\n");
  EXPECT_EQ(asked(R"({"scope":["exec"],"expires_in":2592001})"),
            "expires_in: Too big: expected number to be <=2592000\n");
}

}  // namespace
}  // namespace roombox
