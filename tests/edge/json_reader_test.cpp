#include "wasm/protocol/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace roombox {
namespace {

/// Writes down what it is handed.
class Recorder final : public JsonHandler {
 public:
  void value(const JsonValue& value) override {
    log += name(value.kind);
    if (value.kind == JsonKind::String) log += "=" + *value.text;
    if (value.kind == JsonKind::Number) log += "=" + std::to_string(static_cast<long long>(value.number));
    log += " ";
  }
  void key(std::string& name) override { log += name + ":"; }
  void close() override { log += "end "; }

  std::string log;
};

std::string events(std::string_view text) {
  Recorder recorder;
  EXPECT_EQ(read_json(text, recorder), std::nullopt) << text;
  return recorder.log;
}

std::string fault(std::string_view text) {
  Recorder recorder;
  return read_json(text, recorder).value_or("none");
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t count = 0; count < times; ++count) out += text;
  return out;
}

TEST(JsonReader, HandsOnValuesInTheirOrder) {
  EXPECT_EQ(
      events(R"({"a":[1,-2,"x",null,true,{}],"b":{"c":5.0}})"),
      "object a:array number=1 number=-2 string=x null boolean object end end b:object c:number=5 end end ");
  EXPECT_EQ(events(" 7 "), "number=7 ");
  EXPECT_EQ(events("\xEF\xBB\xBF\"x\""), "string=x ");
  EXPECT_EQ(events(R"("\u00e9\ud83d\ude00\n\/")"), "string=é😀\n/ ");
}

TEST(JsonReader, BoundsDepth) {
  EXPECT_EQ(fault(nested(32)), "none");
  EXPECT_EQ(fault(nested(33)), "Invalid JSON: nested more than 32 levels deep");
  EXPECT_EQ(fault(std::string(1'000'000, '[')), "Invalid JSON: nested more than 32 levels deep");
  std::string objects;
  for (int level = 0; level < 100'000; ++level) objects += "{\"a\":";
  EXPECT_EQ(fault(objects), "Invalid JSON: nested more than 32 levels deep");
  EXPECT_EQ(fault("[" + std::string(100'000, ' ') + nested(31) + "]"), "none");  // levels, not brackets
  EXPECT_EQ(fault("[[]" + repeated(",[{}]", 100) + "]"), "none");
}

TEST(JsonReader, SaysWhereAndWhy) {
  struct Case {
    std::string_view text;
    std::string_view fault;
  };
  using namespace std::string_view_literals;
  constexpr Case kCases[] = {
      {"", "0: the body is empty"},
      {"  ", "2: the text ends too early"},
      {"{", "1: the text ends too early"},
      {"[1,", "3: the text ends too early"},
      {"tru", "3: the text ends too early"},
      {"-", "1: the text ends too early"},
      {"{\"a\":1", "6: the text ends too early"},
      {"x", "0: unexpected 'x'"},
      {"[1}", "2: unexpected '}'"},
      {"[1,]", "3: unexpected ']'"},
      {"{'a':1}", "1: unexpected '''"},
      {"{\"a\" 12}", "5: unexpected '1'"},
      {"{\"a\":1 -23.5e1}", "7: unexpected '-'"},
      {"[1 true]", "3: unexpected 't'"},
      {"[truu]", "4: unexpected 'u'"},
      {"[01]", "2: unexpected '1'"},
      {"[-012]", "3: unexpected '1'"},
      {"[1 0.5]", "3: unexpected '0'"},
      {"[+1]", "1: unexpected '+'"},
      {"[1.]", "3: unexpected ']'"},
      {"NaN", "0: unexpected 'N'"},
      {"1 2", "2: unexpected '2'"},
      {"{} {}", "3: unexpected '{'"},
      {"{}\0"sv, "2: unexpected byte 0x00"},
      {"\0"sv, "0: unexpected byte 0x00"},
      {"[\x01]", "1: unexpected byte 0x01"},
      {"\xFF", "0: unexpected byte 0xff"},
      {"[é]", "1: unexpected byte 0xc3"},
      {"\xEF\xBB{}", "2: unexpected '{'"},
      {"[\"a\" \"b\"]", "5: unexpected string"},
      {"\"a\"\"b\\n\"", "3: unexpected string"},
      {"[\"abc", "1: a string is not closed"},
      {"\"a\\", "0: a string is not closed"},
      {"\"\\ud83d", "0: a string is not closed"},
      {"\"\xE2\x82", "0: a string is not closed"},
      {"\"a\nb\"", "2: a control character in a string must be escaped"},
      {"\"a\0b\"\0"sv, "2: a control character in a string must be escaped"},
      {"\"\\\\\\x\"", "3: a string has an escape that JSON does not know"},
      {"\"\\'\"", "1: a string has an escape that JSON does not know"},
      {"\"ab\\u12g4\"", "3: \\u needs four hexadecimal digits"},
      {"\"\\u\"", "1: \\u needs four hexadecimal digits"},
      {"\"\\ud83d\\u12\"", "7: \\u needs four hexadecimal digits"},
      {"\"\\ud800\"", "1: a string has half of a surrogate pair"},
      {"\"\\udc00\"", "1: a string has half of a surrogate pair"},
      {"\"\\uD800\\n\"", "7: a string has half of a surrogate pair"},
      {"\"\\uDBFF\\u0041\"", "7: a string has half of a surrogate pair"},
      {"\"\\ud800\xFF\"", "1: a string has half of a surrogate pair"},
      {"\"\\u0041\xFF\"", "7: a string is not valid UTF-8"},
      {"\"\xFF\"", "1: a string is not valid UTF-8"},
      {"\"a\x80\"", "2: a string is not valid UTF-8"},
      {"\"a\xE2\x82\"", "2: a string is not valid UTF-8"},
      {"\"a\xE2\x28\xA1\"", "2: a string is not valid UTF-8"},
      {"\"\xC0\xAF\"", "1: a string is not valid UTF-8"},
      {"\"\xED\xA0\x80\"", "1: a string is not valid UTF-8"},
      {"\"\xF4\x90\x80\x80\"", "1: a string is not valid UTF-8"},
      {"[1e999]", "1: a number is too large"},
      {"-1e999", "0: a number is too large"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(fault(c.text), "Invalid JSON at position " + std::string(c.fault)) << c.text;
  }
}

TEST(JsonReader, TakesHugeTokensWithoutHarm) {
  constexpr std::size_t kHuge = 4u << 20;
  EXPECT_EQ(fault(std::string(kHuge, '7')), "Invalid JSON at position 0: a number is too large");
  EXPECT_EQ(fault("0." + std::string(kHuge, '7')), "none");
  EXPECT_EQ(fault("\"" + std::string(kHuge, 'x')), "Invalid JSON at position 0: a string is not closed");
  EXPECT_EQ(fault("\"" + std::string(kHuge, '\\') + "\""), "none");
  EXPECT_EQ(fault("\"" + std::string(kHuge + 1, '\\') + "\""),
            "Invalid JSON at position 0: a string is not closed");
  EXPECT_EQ(fault(std::string(kHuge, ' ')), "Invalid JSON at position 4194304: the text ends too early");
}

}  // namespace
}  // namespace roombox
