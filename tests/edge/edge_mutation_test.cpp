#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/edge/decisions.h"
#include "tests/edge/dice.h"
#include "wasm/edge.h"
#include "wasm/protocol/exec_request.h"

namespace roombox::edge {
namespace {

using nlohmann::json;

constexpr std::string_view kSeeds[] = {
    R"({"cmd":"echo 'Hello from sandbox'"})",
    R"({"cmd":"ls","cwd":"/tmp","env":{"A":"1","B_2":"x y"},"timeout_ms":5000})",
    R"({"cmd":"\ud83d\ude00 \u00e9\n\"\\\/","timeout_ms":1e3})",
    R"( { "env" : { } , "timeout_ms" : 5.0 , "cmd" : "é€😀" } )",
    R"({"cmd":["a",{"b":[null,true,-1.5e-3]}],"x":{"y":[]}})",
    "\xEF\xBB\xBF{\"cmd\":\"a\"}",
};

using namespace std::string_view_literals;
constexpr std::string_view kPieces[] = {"\"",
                                        "\\",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\0"sv,
                                        "\n",
                                        "\xFF",
                                        "\xE2",
                                        "\xED\xA0",
                                        "\\ud83d",
                                        "\\udc00",
                                        "\\u0000",
                                        "1e999",
                                        "-0",
                                        "null",
                                        "true",
                                        "\"cmd\":",
                                        "\"env\":{",
                                        "\"timeoutMs\":1,",
                                        "99999999999999999999",
                                        "\x80",
                                        "\xF0\x9F\x98",
                                        " ",
                                        "//",
                                        "\xEF\xBB\xBF",
                                        "[[[[[[[[[[[[[[[["};

void mutate(std::string& body, Dice& dice) {
  const std::size_t at = dice.below(body.size() + 1);
  switch (dice.below(6)) {
    case 0:
      if (at < body.size()) body[at] = static_cast<char>(dice.below(256));
      break;
    case 1:
      body.erase(at, dice.below(8));
      break;
    case 2:
      body.insert(at, kPieces[dice.below(std::size(kPieces))]);
      break;
    case 3:
      body.resize(at);
      break;
    case 4:
      body.insert(at, body.substr(dice.below(body.size() + 1), dice.below(24)));
      break;
    default:
      if (at < body.size()) body[at] = static_cast<char>(body[at] ^ (1 << dice.below(8)));
  }
}

/// Checks what was forwarded against the parser's own, independent reading of the body.
void check_forwarded(const std::string& body) {
  ASSERT_EQ(body.find('\0'), std::string::npos);
  const json document = json::parse(body, nullptr, false);
  ASSERT_TRUE(document.is_object()) << body;
  const auto parsed = parse_exec_request(body, Dialect::Rooms);
  ASSERT_TRUE(parsed) << body;
  EXPECT_EQ(json(parsed->cmd), document.value("cmd", json())) << body;
  EXPECT_EQ(parsed->env.size(), document.value("env", json::object()).size()) << body;
  for (const auto& [name, value] : document.items()) {
    EXPECT_TRUE(name == "cmd" || name == "cwd" || name == "env" || name == "timeout_ms") << body;
  }
}

void check_refused(const Answer& answer, const std::string& body) {
  ASSERT_EQ(answer.status, 400) << body;
  ASSERT_LT(answer.body.size(), 8192u) << body;
  const json error = json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(error.is_object()) << answer.body;
  ASSERT_FALSE(error.value("details", json()).empty()) << answer.body;
}

// Whatever the body: forwarded if it is right, 400 if not, and neither a crash nor a third way.
TEST(Mutation, IsForwardedOrRefused) {
  constexpr int kBodies = 30'000;
  Dice dice;
  int forwarded = 0;
  for (int count = 0; count < kBodies; ++count) {
    std::string body(kSeeds[dice.below(std::size(kSeeds))]);
    for (std::size_t rounds = dice.below(4); rounds > 0; --rounds) mutate(body, dice);
    const Decision decision = decide(exec_call(body));
    if (std::holds_alternative<Forward>(decision)) {
      ++forwarded;
      check_forwarded(body);
    } else {
      check_refused(expect<Answer>(decision), body);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(forwarded, kBodies / 10);
  EXPECT_LT(forwarded, kBodies * 9 / 10);
}

}  // namespace
}  // namespace roombox::edge
