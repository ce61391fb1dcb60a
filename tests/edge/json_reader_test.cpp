#include "wasm/protocol/json_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/edge/dice.h"

namespace roombox {
namespace {

using nlohmann::json;

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

/// A document with its numbers as JsonValue has them.
json as_told(json document) {
  if (document.is_structured()) {
    for (auto& inside : document) inside = as_told(std::move(inside));
  } else if (document.is_number()) {
    const double number = document.get<double>();
    const double size = std::clamp(std::abs(number), 1e-30, 1e30);
    if (number != 0) document = std::copysign(size, number);
  }
  return document;
}

/// Builds the document again out of what it is handed, its numbers as they are handed on.
class Builder final : public JsonHandler {
 public:
  void value(const JsonValue& value) override {
    if (value.kind == JsonKind::Object) return open(json::object());
    if (value.kind == JsonKind::Array) return open(json::array());
    add(value.kind == JsonKind::String    ? json(*value.text)
        : value.kind == JsonKind::Number  ? json(value.number)
        : value.kind == JsonKind::Boolean ? json(value.truth)
                                          : json());
  }
  void key(std::string& name) override { names_.push_back(name); }
  void close() override {
    json closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed));
  }

  json built;

 private:
  void open(json empty) { open_.push_back(std::move(empty)); }
  void add(json value) {
    if (open_.empty()) {
      built = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().push_back(std::move(value));
    } else {
      open_.back()[names_.back()] = std::move(value);
      names_.pop_back();
    }
  }

  std::vector<json> open_;
  std::vector<std::string> names_;
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
      {"1-2", "1: unexpected '-'"},
      {"[false12]", "6: unexpected '1'"},
      {"1 -x", "3: unexpected 'x'"},
      {"[1e+]", "4: unexpected ']'"},
      {"[-]", "2: unexpected ']'"},
      {"[,1]", "1: unexpected ','"},
      {"{\"a\":}", "5: unexpected '}'"},
      {"{\"a\":1,}", "7: unexpected '}'"},
      {"]", "0: unexpected ']'"},
      {"\xEF", "1: the text ends too early"},
      {"\xEF\xBB\xBF", "3: the text ends too early"},
      {"\xEF\xBB\xBF\xEF\xBB\xBF{}", "3: unexpected byte 0xef"},
      {"{} {}", "3: unexpected '{'"},
      {"{}\0"sv, "2: unexpected byte 0x00"},
      {"\0"sv, "0: unexpected byte 0x00"},
      {"[\x01]", "1: unexpected byte 0x01"},
      {"\xFF", "0: unexpected byte 0xff"},
      {"[é]", "1: unexpected byte 0xc3"},
      {"\xEF\xBB{}", "2: unexpected '{'"},
      {"[\"a\" \"b\"]", "5: unexpected string"},
      {"\"a\"\"b\\n\"", "3: unexpected string"},
      {"1\"\\ud83d\\ude00\"", "1: unexpected string"},
      {"\"a\"\"b\\x\"", "5: a string has an escape that JSON does not know"},
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
      {"\"\\ud83d\\ude00\xFF\"", "13: a string is not valid UTF-8"},
      {"\"\\ud83d\\ud83d\\ude00\"", "7: a string has half of a surrogate pair"},
      {"\"\\ud83d\\x\"", "7: a string has an escape that JSON does not know"},
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

TEST(JsonReader, FindsWhatDoesNotStandForItselfWhereverItIs) {
  struct Case {
    std::string_view written;
    std::string_view fault;  ///< None if the string goes on behind it.
    std::string_view meant;
  };
  constexpr Case kCases[] = {
      {"\\n", "", "\n"},
      {"é", "", "é"},
      {"😀\\\"", "", "😀\""},
      {"\x7F", "", "\x7F"},
      {"\x1F", "a control character in a string must be escaped", ""},
      {"\x80", "a string is not valid UTF-8", ""},
      {"\xF0\x9F", "a string is not valid UTF-8", ""},
  };
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t after = 0; after < 40; ++after) {
      const std::string head = "\"" + std::string(before, ' ');
      const std::string tail(after, '~');
      for (const Case& c : kCases) {
        const std::string text = head + std::string(c.written) + tail + "\"";
        if (c.fault.empty()) {
          EXPECT_EQ(events(text), "string=" + head.substr(1) + std::string(c.meant) + tail + " ");
        } else {
          EXPECT_EQ(fault(text),
                    "Invalid JSON at position " + std::to_string(head.size()) + ": " + std::string(c.fault));
        }
      }
    }
  }
}

TEST(JsonReader, ReadsNumbersExactly) {
  const auto number = [](std::string_view text) {
    Builder builder;
    EXPECT_EQ(read_json(text, builder), std::nullopt) << text;
    return builder.built.get<double>();
  };
  EXPECT_EQ(number("999999999999999999"), 1e18);
  EXPECT_EQ(number("9007199254740993"), 9007199254740992);  // between two: the even one
  EXPECT_EQ(number("-9223372036854775809"), -9223372036854775808.0);
  EXPECT_EQ(number("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_EQ(number("0.1"), 0.1);
  EXPECT_EQ(number("1.5e-7"), 1.5e-7);
  EXPECT_EQ(number("0.000000000000000000000000000001"), 1e-30);
  EXPECT_EQ(number("-0.00e9999999999"), 0);
  EXPECT_EQ(number("60000.0000"), 60000);
  EXPECT_EQ(number("1e-99999999999999999999"), 0);
  // No field tells these from one another, and each would take long to be exact.
  for (const char* large :
       {"1e30", "1.7976931348623157E+308", "9e+308", "0.001e33", "1234567890123456789012345678901"})
    EXPECT_EQ(number(large), 1e30) << large;
  for (const char* small : {"9e-31", "4.9e-324", "0.0000000000000000000000000000009"})
    EXPECT_EQ(number(small), 1e-30) << small;
  EXPECT_FALSE(std::signbit(number("-0")));  // an integer
  EXPECT_FALSE(std::signbit(number("-0.0")));
}

/// Another reader is the judge: of what is JSON, and of what it says.
TEST(JsonReader, AgreesWithAnother) {
  constexpr std::string_view kPieces[] = {
      "{",     "}",      "[",     "]",     ":",       ",",       "\"",
      "\"a\"", "\"b\":", "\\",    "\\u",   "\\ud83d", "\\ude00", "\\u00e9",
      "\\n",   "true",   "null",  "false", "1",       "-",       "0",
      ".5",    "e3",     "1e999", " ",     "\n",      "é",       "\xE2\x82",
      "\x80",  "😀",      "x",     "\x01",  "\"\":1",  "0.25e-3", "12345678901234567890"};
  constexpr std::string_view kSeeds[] = {
      R"({"a":[1,-2.5e3,"x",null,true,{}],"b":{"c":"\ud83d\ude00 é \n"}})",
      R"([[],{},"a long string of more than sixteen bytes, to be looked at in blocks €",0.1,1e5])",
  };
  Dice dice;
  std::size_t good = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text(kSeeds[dice.below(std::size(kSeeds))]);
    for (std::size_t times = dice.below(4); times > 0; --times) {
      const std::size_t at = dice.below(text.size() + 1);
      text.replace(at, dice.below(3), kPieces[dice.below(std::size(kPieces))]);
      if (dice.below(8) == 0) text.resize(at);
    }
    Builder builder;
    const bool is_good = !read_json(text, builder);
    json judged = json::parse(text, nullptr, false);
    ASSERT_EQ(is_good, !judged.is_discarded()) << text;
    ASSERT_TRUE(!is_good || builder.built == as_told(judged)) << text;
    good += is_good ? 1 : 0;
  }
  EXPECT_GT(good, 10'000u);
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
