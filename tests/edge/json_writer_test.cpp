#include "wasm/protocol/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/edge/dice.h"

namespace roombox {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string escaped(std::string_view bytes) {
  std::string out;
  JsonWriter::append_escaped(out, bytes);
  return out;
}

/// The "UTF-8 decoder" of the WHATWG Encoding Standard, state by state as it is written there, giving UTF-8
/// again.
std::string reference_decode(std::string_view bytes) {
  std::string out;
  std::string seen;
  unsigned needed = 0;
  unsigned lower = 0x80;
  unsigned upper = 0xBF;
  const auto restart = [&] {
    seen.clear();
    needed = 0;
    lower = 0x80;
    upper = 0xBF;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<std::uint8_t>(bytes[at]);
    if (needed == 0) {
      if (byte <= 0x7F) {
        out += bytes[at];
      } else if (byte >= 0xC2 && byte <= 0xDF) {
        needed = 1;
      } else if (byte >= 0xE0 && byte <= 0xEF) {
        if (byte == 0xE0) lower = 0xA0;
        if (byte == 0xED) upper = 0x9F;
        needed = 2;
      } else if (byte >= 0xF0 && byte <= 0xF4) {
        if (byte == 0xF0) lower = 0x90;
        if (byte == 0xF4) upper = 0x8F;
        needed = 3;
      } else {
        out += kReplacement;
      }
      if (needed > 0) seen = bytes[at];
    } else if (byte < lower || byte > upper) {
      out += kReplacement;
      restart();
      --at;  // the byte is looked at again
    } else {
      lower = 0x80;
      upper = 0xBF;
      seen += bytes[at];
      if (seen.size() == needed + 1) {
        out += seen;
        restart();
      }
    }
  }
  if (needed > 0) out += kReplacement;
  return out;
}

TEST(JsonWriter, WritesStructureWithItsCommas) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.key("a").begin_array().integer(1).string("x").begin_object().end_object().null().end_array();
  json.key("b").boolean(true);
  json.key("c").begin_object().key("d").boolean(false).end_object();
  json.end_object();
  EXPECT_EQ(out, R"({"a":[1,"x",{},null],"b":true,"c":{"d":false}})");
}

TEST(JsonWriter, WritesIntegersToTheirLimits) {
  std::string out;
  JsonWriter json(out);
  json.begin_array().integer(0).integer(-1);
  json.integer(std::numeric_limits<std::int64_t>::min()).integer(std::numeric_limits<std::int64_t>::max());
  json.end_array();
  EXPECT_EQ(out, "[0,-1,-9223372036854775808,9223372036854775807]");
}

TEST(JsonWriter, AppendsToWhatIsThere) {
  std::string out = "data: ";
  JsonWriter(out).string("x");
  EXPECT_EQ(out, "data: \"x\"");
}

TEST(JsonWriter, EscapesKeys) {
  std::string out;
  JsonWriter(out).begin_object().key("a\"\n").null().end_object();
  EXPECT_EQ(out, R"({"a\"\n":null})");
}

TEST(JsonWriter, EscapesAsJavaScriptDoes) {
  EXPECT_EQ(escaped("\"\\/\b\f\n\r\t"), R"(\"\\/\b\f\n\r\t)");
  EXPECT_EQ(escaped(std::string_view("\0\x01\x1B\x1F\x7F", 5)), "\\u0000\\u0001\\u001b\\u001f\x7F");
  EXPECT_EQ(escaped("é€😀\u2028"), "é€😀\u2028");
}

// Every byte in every place of the words that are looked at eight bytes at a time.
TEST(JsonWriter, FindsSpecialBytesWhereverTheyAre) {
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    for (std::size_t place = 0; place < 20; ++place) {
      std::string text(20, 'a');
      text[place] = static_cast<char>(byte);
      const auto parsed = nlohmann::json::parse('"' + escaped(text) + '"', nullptr, false);
      ASSERT_TRUE(parsed.is_string()) << byte << " at " << place;
      ASSERT_EQ(parsed.get<std::string>(), text) << byte << " at " << place;
    }
  }
}

// All texts of up to four bytes that stand for the classes and edges of UTF-8, alone and amid plain text.
TEST(JsonWriter, ReplacesAsATextDecoderDoes) {
  constexpr std::uint8_t kEdges[] = {0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                                     0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  constexpr std::size_t kCount = sizeof kEdges;
  for (std::size_t code = 0; code < kCount * kCount * kCount * kCount; ++code) {
    std::string text;
    for (std::size_t rest = code, digit = 0; digit < 4; ++digit, rest /= kCount) {
      text += static_cast<char>(kEdges[rest % kCount]);
    }
    ASSERT_EQ(escaped(text), reference_decode(text)) << "code " << code;
    if (code % 7 == 0) {
      text = "plain text" + text.substr(1) + "more";
      ASSERT_EQ(escaped(text), reference_decode(text)) << "code " << code;
    }
  }
}

// Texts far longer than what is written at once, of bytes that grow to as many as six.
TEST(JsonWriter, WritesLongTexts) {
  Dice dice;
  for (int round = 0; round < 60; ++round) {
    std::string text = random_bytes(dice, dice.below(20'000));
    if (round % 3 == 0) text.insert(dice.below(text.size() + 1), std::string(5000, '\x01'));
    if (round % 4 == 0) text.insert(dice.below(text.size() + 1), std::string(5000, '\xFF'));
    std::string out = "\"";
    JsonWriter::append_escaped(out, text);
    const auto parsed = nlohmann::json::parse(out + '"', nullptr, false);
    ASSERT_TRUE(parsed.is_string()) << round;
    ASSERT_TRUE(parsed.get<std::string>() == reference_decode(text)) << round;
    ASSERT_EQ(JsonWriter::escaped_size(text), out.size() - 1);
  }
}

TEST(JsonWriter, ReplacesAByteOrAMaximalPart) {
  EXPECT_EQ(escaped("\xFF\xFE"), std::string(kReplacement) + std::string(kReplacement));
  EXPECT_EQ(escaped("\xE2\x82"), kReplacement);  // one for the part of one character
  EXPECT_EQ(escaped("\xF0\x9F\x98z"), std::string(kReplacement) + "z");
  EXPECT_EQ(escaped("\xE0\x80"), std::string(kReplacement) + std::string(kReplacement));
  EXPECT_EQ(escaped("\xE2\""), std::string(kReplacement) + "\\\"");
}

}  // namespace
}  // namespace roombox
