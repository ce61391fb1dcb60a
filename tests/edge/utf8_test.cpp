#include "wasm/protocol/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace roombox::utf8 {
namespace {

TEST(IncompleteTail, CountsTheBytesOfACutCharacter) {
  struct Case {
    std::string_view text;
    std::size_t tail;
  };
  constexpr Case kCases[] = {
      {"", 0},
      {"abc", 0},
      {"é", 0},
      {"a\xC3", 1},
      {"€", 0},
      {"\xE2\x82", 2},
      {"\xE2", 1},
      {"\xF0\x9F\x98\x80", 0},
      {"\xF0\x9F\x98", 3},
      {"x\xF0\x9F", 2},
      {"\x80", 0},              // begins nothing
      {"\xE0\x80", 0},          // overlong, so no character begins here
      {"\xED\xA0", 0},          // a surrogate
      {"\xF5", 0},              // beyond Unicode
      {"\xC3\xA9\xC3", 1},      // a whole character before the cut one
      {"\xE2\x82\xAC\x80", 0},  // a stray byte after a whole character
  };
  for (const Case& c : kCases) EXPECT_EQ(incomplete_tail(c.text), c.tail) << c.text;
}

TEST(Append, WritesCharactersOfEachLength) {
  std::string out;
  for (const char32_t code :
       {U'\0', U'a', U'\x7F', U'\x80', U'é', U'\x7FF', U'\x800', U'€', U'\uFFFF', U'😀'}) {
    append(out, code);
  }
  using namespace std::string_view_literals;
  EXPECT_EQ(out, "\0a\x7F\xC2\x80é\xDF\xBF\xE0\xA0\x80€\xEF\xBF\xBF😀"sv);
}

TEST(BeyondAscii, EndsAtAsciiAndAtWhatIsNoCharacter) {
  EXPECT_EQ(beyond_ascii(""), 0u);
  EXPECT_EQ(beyond_ascii("aé"), 0u);
  EXPECT_EQ(beyond_ascii("é€😀a"), 9u);
  EXPECT_EQ(beyond_ascii("é€😀"), 9u);
  EXPECT_EQ(beyond_ascii("é\x80"), 2u);
  EXPECT_EQ(beyond_ascii("é\xF0\x9F\x98"), 2u);
  EXPECT_EQ(beyond_ascii("é\xED\xA0\x80 and more"), 2u);
}

TEST(Prefix, EndsBetweenCharacters) {
  EXPECT_EQ(prefix("abc", 3), "abc");
  EXPECT_EQ(prefix("abc", 2), "ab");
  EXPECT_EQ(prefix("aé", 2), "a");
  EXPECT_EQ(prefix("€", 2), "");
  EXPECT_EQ(prefix("", 0), "");
}

}  // namespace
}  // namespace roombox::utf8
