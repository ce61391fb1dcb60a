#include "container/http_conditions.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

std::string asked(std::string_view field, std::uint64_t size) {
  const auto range = requested_range(field, size);
  if (std::holds_alternative<Unsatisfiable>(range)) return "none";
  if (const auto* part = std::get_if<Range>(&range))
    return std::to_string(part->first) + "+" + std::to_string(part->size);
  return "whole";
}

TEST(RequestedRange, IsOneOfBytes) {
  EXPECT_EQ(asked("bytes=0-0", 10), "0+1");
  EXPECT_EQ(asked("bytes=2-5", 10), "2+4");
  EXPECT_EQ(asked("bytes=2-", 10), "2+8");
  EXPECT_EQ(asked("bytes=2-99", 10), "2+8");
  EXPECT_EQ(asked("bytes=2-99999999999999999999999", 10), "2+8");
  EXPECT_EQ(asked("bytes=-3", 10), "7+3");
  EXPECT_EQ(asked("bytes=-99", 10), "0+10");
  EXPECT_EQ(asked("bytes= 2-5 ", 10), "2+4");
}

TEST(RequestedRange, IsNoneWhereThereAreNoSuchBytes) {
  for (const char* field : {"bytes=10-", "bytes=10-11", "bytes=99999999999999999999999-", "bytes=-0"})
    EXPECT_EQ(asked(field, 10), "none") << field;
  EXPECT_EQ(asked("bytes=0-", 0), "none");
  EXPECT_EQ(asked("bytes=-1", 0), "none");
}

TEST(RequestedRange, IsTheWholeWhereItIsNotUnderstood) {
  for (const char* field : {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,3-4", "items=0-1",
                            "bytes", "bytes=1", "bytes=+1-2", "bytes=1-2x", "Bytes=0-1x"})
    EXPECT_EQ(asked(field, 10), "whole") << field;
}

TEST(NamesTag, ComparesEachOfAList) {
  EXPECT_TRUE(names_tag(R"("a")", R"("a")", Comparison::Strong));
  EXPECT_TRUE(names_tag(R"("b" , "a")", R"("a")", Comparison::Strong));
  EXPECT_TRUE(names_tag(" * ", R"("a")", Comparison::Strong));
  EXPECT_TRUE(names_tag(R"(W/"a")", R"("a")", Comparison::Weak));
  EXPECT_FALSE(names_tag(R"(W/"a")", R"("a")", Comparison::Strong));
  EXPECT_FALSE(names_tag(R"("b")", R"("a")", Comparison::Weak));
  EXPECT_FALSE(names_tag("", R"("a")", Comparison::Weak));
  EXPECT_FALSE(names_tag(",", R"("a")", Comparison::Weak));
  EXPECT_FALSE(names_tag("*", "", Comparison::Weak));
}

TEST(Preconditions, HoldForWhatTheyName) {
  EXPECT_TRUE((Preconditions{"", ""}).hold(""));
  EXPECT_FALSE((Preconditions{"*", ""}).hold(""));
  EXPECT_TRUE((Preconditions{"*", ""}).hold(R"("a")"));
  EXPECT_FALSE((Preconditions{R"("b")", ""}).hold(R"("a")"));
  EXPECT_TRUE((Preconditions{"", "*"}).hold(""));
  EXPECT_FALSE((Preconditions{"", "*"}).hold(R"("a")"));
}

TEST(HttpDate, IsAsInRfc9110) {
  EXPECT_EQ(http_date(std::chrono::system_clock::from_time_t(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace roombox
