#include "wasm/protocol/percent.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

TEST(Percent, EncodesAllButWhatAPathMayHave) {
  EXPECT_EQ(percent_encoded("/a-Z_0.9~/"), "/a-Z_0.9~/");
  EXPECT_EQ(percent_encoded("a b%?#&+='\"\n\xff\xc3\xa9"), "a%20b%25%3F%23%26%2B%3D%27%22%0A%FF%C3%A9");
}

TEST(Percent, ComesBackWhateverTheBytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(percent_decoded(percent_encoded(bytes)), bytes);
}

TEST(Percent, DecodesOnceAndNothingByHalves) {
  EXPECT_EQ(percent_decoded("%252f"), "%2f");
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
  for (const char* text : {"%", "%4", "%4g", "%g4", "a%"}) EXPECT_FALSE(percent_decoded(text)) << text;
}

}  // namespace
}  // namespace roombox
