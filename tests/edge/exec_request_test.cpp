#include "wasm/protocol/exec_request.h"

#include <gtest/gtest.h>

#include <string>

namespace roombox {
namespace {

using namespace std::chrono_literals;

/// The faults as `field: message` lines; `ok` if there are none.
std::string faults(std::string_view body) {
  const auto parsed = parse_exec_request(body, Dialect::Rooms);
  if (parsed) return "ok";
  std::string lines;
  for (const FieldError& error : parsed.error()) lines += error.field + ": " + error.message + "\n";
  return lines;
}

/// A body with a valid command and one more member.
std::string with(std::string_view member) {
  return R"({"cmd":"true",)" + std::string(member) + "}";
}

std::string env_of(std::size_t count, std::size_t value_size) {
  std::string members;
  for (std::size_t index = 0; index < count; ++index) {
    members +=
        (index == 0 ? "\"V" : ",\"V") + std::to_string(index) + "\":\"" + std::string(value_size, 'x') + '"';
  }
  return with("\"env\":{" + members + "}");
}

TEST(ExecRequest, TakesEveryField) {
  const auto parsed = parse_exec_request(
      R"({"cmd":"echo \u00e9","cwd":"/tmp","env":{"A":"1","_b2":"it's \"$x\"\n"},"timeout_ms":5000})",
      Dialect::Rooms);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->cmd, "echo é");
  EXPECT_EQ(parsed->cwd, "/tmp");
  ASSERT_EQ(parsed->env.size(), 2u);
  EXPECT_EQ(parsed->env[0].name, "A");
  EXPECT_EQ(parsed->env[0].value, "1");
  EXPECT_EQ(parsed->env[1].name, "_b2");
  EXPECT_EQ(parsed->env[1].value, "it's \"$x\"\n");
  EXPECT_EQ(parsed->timeout, 5s);
}

TEST(ExecRequest, HasDefaults) {
  const auto parsed = parse_exec_request("\xEF\xBB\xBF {\"cmd\":\"true\"} ", Dialect::Rooms);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->cmd, "true");
  EXPECT_EQ(parsed->cwd, "");
  EXPECT_TRUE(parsed->env.empty());
  EXPECT_EQ(parsed->timeout, limits::kTimeoutDefault);
}

TEST(ExecRequest, ChecksTheCommand) {
  EXPECT_EQ(faults("{}"), "cmd: Invalid input: expected string, received undefined\n");
  EXPECT_EQ(faults(R"({"cmd":""})"), "cmd: Command cannot be empty\n");
  EXPECT_EQ(faults(R"({"cmd":1})"), "cmd: Invalid input: expected string, received number\n");
  EXPECT_EQ(faults(R"({"cmd":null})"), "cmd: Invalid input: expected string, received null\n");
  EXPECT_EQ(faults(R"({"cmd":true})"), "cmd: Invalid input: expected string, received boolean\n");
  EXPECT_EQ(faults(R"({"cmd":["a"]})"), "cmd: Invalid input: expected string, received array\n");
  EXPECT_EQ(faults(R"({"cmd":{"cmd":"a"}})"), "cmd: Invalid input: expected string, received object\n");
  EXPECT_EQ(faults(R"({"cmd":"a\u0000b"})"), "cmd: Command cannot contain a NUL character\n");
  EXPECT_EQ(faults("{\"cmd\":\"" + std::string(1u << 20, 'x') + "\"}"), "ok");
  EXPECT_EQ(faults("{\"cmd\":\"" + std::string((1u << 20) + 1, 'x') + "\"}"),
            "cmd: Too big: expected string to have <=1048576 bytes\n");
}

TEST(ExecRequest, CountsACommandsBytesDecoded) {
  std::string escaped;
  for (std::size_t count = 0; count < limits::kCommand / 2; ++count) escaped += "\\u00e9";
  EXPECT_EQ(faults("{\"cmd\":\"" + escaped + "\"}"), "ok");
  EXPECT_EQ(faults("{\"cmd\":\"a" + escaped + "\"}"),
            "cmd: Too big: expected string to have <=1048576 bytes\n");
}

TEST(ExecRequest, ChecksTheDirectory) {
  EXPECT_EQ(faults(with(R"("cwd":"/")")), "ok");
  EXPECT_EQ(faults(with(R"("cwd":"")")), "cwd: Working directory must be an absolute path\n");
  EXPECT_EQ(faults(with(R"("cwd":"tmp")")), "cwd: Working directory must be an absolute path\n");
  EXPECT_EQ(faults(with(R"("cwd":"/a\u0000")")), "cwd: Working directory cannot contain a NUL character\n");
  EXPECT_EQ(faults(with(R"("cwd":null)")), "cwd: Invalid input: expected string, received null\n");
  EXPECT_EQ(faults(with("\"cwd\":\"/" + std::string(4094, 'x') + "\"")), "ok");
  EXPECT_EQ(faults(with("\"cwd\":\"/" + std::string(4095, 'x') + "\"")),
            "cwd: Too big: expected string to have <=4095 bytes\n");
}

TEST(ExecRequest, ChecksTheTimeoutAsJavaScriptSeesNumbers) {
  for (const char* good : {"1", "5.0", "1e3", "3600000", "3.6e6"}) {
    EXPECT_EQ(faults(with("\"timeout_ms\":" + std::string(good))), "ok") << good;
  }
  EXPECT_EQ(parse_exec_request(with(R"("timeout_ms":1e3)"), Dialect::Rooms)->timeout, 1s);
  constexpr std::string_view kSmall = "timeout_ms: Too small: expected number to be >=1\n";
  for (const char* small : {"0", "-0", "-1", "-1e300", "-9223372036854775808", "1e-999"}) {
    EXPECT_EQ(faults(with("\"timeout_ms\":" + std::string(small))), kSmall) << small;
  }
  constexpr std::string_view kBig = "timeout_ms: Too big: expected number to be <=3600000\n";
  for (const char* big : {"3600001", "1e300", "18446744073709551615", "18446744073709551616"}) {
    EXPECT_EQ(faults(with("\"timeout_ms\":" + std::string(big))), kBig) << big;
  }
  EXPECT_EQ(faults(with(R"("timeout_ms":1.5)")),
            "timeout_ms: Invalid input: expected int, received number\n");
  EXPECT_EQ(faults(with(R"("timeout_ms":"5")")),
            "timeout_ms: Invalid input: expected number, received string\n");
  EXPECT_EQ(faults(with("\"timeout_ms\":1e999")),
            "body: Invalid JSON at position 27: a number is too large\n");
  EXPECT_EQ(faults(with("\"timeout_ms\":" + std::string(400, '9'))),
            "body: Invalid JSON at position 27: a number is too large\n");
}

TEST(ExecRequest, ChecksTheEnvironment) {
  EXPECT_EQ(faults(with(R"("env":{})")), "ok");
  EXPECT_EQ(faults(with(R"("env":"A=1")")), "env: Invalid input: expected record, received string\n");
  EXPECT_EQ(faults(with(R"("env":[["A","1"]])")), "env: Invalid input: expected record, received array\n");
  EXPECT_EQ(faults(with(R"("env":null)")), "env: Invalid input: expected record, received null\n");
  EXPECT_EQ(faults(with(R"("env":{"A":1,"B":null,"C":{"D":"x"},"E":"y"})")),
            "env: Invalid input: expected string, received number (variable \"A\")\n"
            "env: Invalid input: expected string, received null (variable \"B\")\n"
            "env: Invalid input: expected string, received object (variable \"C\")\n");
  EXPECT_EQ(faults(with(R"("env":{"A":"x\u0000"})")), "env: Variable \"A\" cannot contain a NUL character\n");
  for (const char* name : {"", "1A", "A-B", "A B", "A=B", "é", "A\\u0000"}) {
    EXPECT_TRUE(
        faults(with("\"env\":{\"" + std::string(name) + "\":\"x\"}"))
            .starts_with("env: Invalid name of a variable: expected [A-Za-z_][A-Za-z0-9_]*, received \""))
        << name;
  }
}

TEST(ExecRequest, BoundsTheEnvironment) {
  EXPECT_EQ(faults(env_of(4096, 1)), "ok");
  EXPECT_EQ(faults(env_of(4097, 1)), "env: Too big: expected record to have <=4096 keys\n");
  EXPECT_EQ(faults(env_of(1, 131'071 - 3)), "ok");  // V0=
  EXPECT_EQ(
      faults(env_of(1, 131'071 - 2)),
      "env: Too big: expected a name and its value to have <=131070 bytes together (variable \"V0\")\n");
  EXPECT_EQ(faults(env_of(4, 131'072 - 4)), "ok");  // V0= and NUL
  // the same and one more, the shortest there is: a name of one letter, = and NUL
  std::string over = env_of(4, 131'072 - 4);
  over.insert(over.find("\"V0\""), R"("A":"",)");
  EXPECT_EQ(faults(over), "env: Too big: expected record to have <=524288 bytes\n");
  EXPECT_EQ(faults(env_of(5, 131'072 - 4)), "env: Too big: expected record to have <=524288 bytes\n");
}

TEST(ExecRequest, RefusesDuplicates) {
  EXPECT_EQ(faults(R"({"cmd":"a","cmd":"a"})"), "cmd: Duplicate key: \"cmd\"\n");
  EXPECT_EQ(faults(R"({"cmd":1,"cmd":"a"})"),
            "cmd: Invalid input: expected string, received number\ncmd: Duplicate key: \"cmd\"\n");
  EXPECT_EQ(faults(with(R"("env":{"A":"1","B":"2","A":"3"})")), "env: Duplicate key: \"A\"\n");
  EXPECT_EQ(faults(with(R"("env":{"A":"1"},"env":{"B":"1"})")), "env: Duplicate key: \"env\"\n");
  EXPECT_EQ(faults(R"({"c\u006dd":"a","cmd":"a"})"), "cmd: Duplicate key: \"cmd\"\n");
}

TEST(ExecRequest, NamesUnknownFieldsAndWhatWasMeant) {
  EXPECT_EQ(faults(with(R"("timeoutMs":5)")),
            "timeoutMs: Unrecognized key: \"timeoutMs\". Did you mean \"timeout_ms\"?\n");
  EXPECT_EQ(faults(R"({"command":"x"})"),
            "command: Unrecognized key: \"command\". Did you mean \"cmd\"?\n"
            "cmd: Invalid input: expected string, received undefined\n");
  EXPECT_EQ(faults(with(R"("image":"a")")), "image: Unrecognized key: \"image\"\n");
  EXPECT_EQ(faults(with(R"("x":1,"x":2)")), "x: Unrecognized key: \"x\"\n");
  EXPECT_EQ(faults(with(R"("":1)")), ": Unrecognized key: \"\"\n");
}

TEST(ExecRequest, LooksForFieldsOnTheFirstLevelOnly) {
  EXPECT_EQ(faults(R"({"x":{"cmd":"a","env":{"A B":1}},"cmd":"a"})"), "x: Unrecognized key: \"x\"\n");
  EXPECT_EQ(faults(R"([{"cmd":"a"}])"), "body: Invalid input: expected object, received array\n");
  EXPECT_EQ(faults(R"({"cmd":"a","env":{"A":{"B C":[1]}}})"),
            "env: Invalid input: expected string, received object (variable \"A\")\n");
}

TEST(ExecRequest, GoesOnAfterWhatIsNestedInARecord) {
  EXPECT_EQ(faults(with(R"("env":{"A":{"B":"x"},"C":[[]],"D":1},"cwd":"x")")),
            "env: Invalid input: expected string, received object (variable \"A\")\n"
            "env: Invalid input: expected string, received array (variable \"C\")\n"
            "env: Invalid input: expected string, received number (variable \"D\")\n"
            "cwd: Working directory must be an absolute path\n");
}

TEST(ExecRequest, WantsAnObject) {
  EXPECT_EQ(faults("[]"), "body: Invalid input: expected object, received array\n");
  EXPECT_EQ(faults("\"x\""), "body: Invalid input: expected object, received string\n");
  EXPECT_EQ(faults("null"), "body: Invalid input: expected object, received null\n");
  EXPECT_EQ(faults("1"), "body: Invalid input: expected object, received number\n");
  EXPECT_EQ(faults("false"), "body: Invalid input: expected object, received boolean\n");
}

TEST(ExecRequest, ReportsAllFieldsTogether) {
  EXPECT_EQ(faults(R"({"cmd":"","cwd":"x","timeout_ms":0,"y":1})"),
            "cmd: Command cannot be empty\n"
            "cwd: Working directory must be an absolute path\n"
            "timeout_ms: Too small: expected number to be >=1\n"
            "y: Unrecognized key: \"y\"\n");
}

TEST(ExecRequest, ReportsOnlyTheJsonWhereItIsNone) {
  EXPECT_EQ(faults(R"({"cmd":"","x":1)"), "body: Invalid JSON at position 15: the text ends too early\n");
}

TEST(ExecRequest, KeepsTheReportSmall) {
  std::string body = "{\"cmd\":\"a\"";
  for (int index = 0; index < 1000; ++index) body += ",\"k" + std::to_string(index) + "\":1";
  const auto many = parse_exec_request(body + "}", Dialect::Rooms);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().size(), 20u);
  const auto longest = parse_exec_request(with("\"" + std::string(1u << 20, 'k') + "\":1"), Dialect::Rooms);
  ASSERT_FALSE(longest);
  EXPECT_EQ(longest.error()[0].field, std::string(64, 'k') + "…");
  // 63 bytes and a character of two: cut before it
  const auto cut = parse_exec_request(with("\"" + std::string(63, 'k') + "é\":1"), Dialect::Rooms);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error()[0].message, "Unrecognized key: \"" + std::string(63, 'k') + "…\"");
}

}  // namespace
}  // namespace roombox
