#include "wasm/protocol/base64.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/edge/dice.h"

namespace roombox {
namespace {

std::string base64(std::string_view bytes) {
  std::string out = "=";
  append_base64(out, bytes);
  return out.substr(1);
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string_view("\0\xFF\xFE", 3)), "AP/+");
  EXPECT_EQ(base64(std::string_view("\0", 1)), "AA==");
}

/// Six bits at a time, as the standard tells it.
std::string reference(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
    unsigned digit = 0;
    for (std::size_t at = bit; at < bit + 6; ++at) {
      const bool set = at < bytes.size() * 8 && (bytes[at / 8] >> (7 - at % 8) & 1) != 0;
      digit = digit << 1 | (set ? 1 : 0);
    }
    out += kAlphabet[digit];
  }
  while (out.size() % 4 != 0) out += '=';
  return out;
}

TEST(Base64, IsThatOfAnyBytes) {
  Dice dice;
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes;
    while (bytes.size() < size) bytes += static_cast<char>(dice.below(256));
    ASSERT_EQ(base64(bytes), reference(bytes)) << size;
  }
}

}  // namespace
}  // namespace roombox
