#include "wasm/router.h"

#include <gtest/gtest.h>

namespace roombox::edge {
namespace {

TEST(PathOf, CutsOriginQueryAndFragment) {
  struct Case {
    std::string_view url;
    std::string_view path;
  };
  constexpr Case kCases[] = {
      {"/a/b", "/a/b"},
      {"/a?b=/c", "/a"},
      {"/a#b?c", "/a"},
      {"https://host/a/b?c#d", "/a/b"},
      {"http://host:8787/a", "/a"},
      {"http://host", ""},
      {"http://host?/a", ""},
      {"http://host#/a", ""},
      {"//host/a", "//host/a"},  // begins with a slash: a path, not an authority
      {"/a/http://host/b", "/a/http://host/b"},
      {"a/http://host/b", ""},
      {"a?http://host/b", ""},
      {"", ""},
      {"a", ""},
      {":", ""},
      {"http:", ""},
      {"http://", ""},
      {"http:/a", ""},
      {"/a%2Fb", "/a%2Fb"},
  };
  for (const Case& c : kCases) EXPECT_EQ(path_of(c.url), c.path) << c.url;
}

TEST(OriginOf, IsWhatComesBeforeThePath) {
  EXPECT_EQ(origin_of("https://host:8787/a/b?c#d"), "https://host:8787");
  EXPECT_EQ(origin_of("http://host?a"), "http://host");
  EXPECT_EQ(origin_of("http://host"), "http://host");
  EXPECT_EQ(origin_of("/a/http://host/b"), "");
  EXPECT_EQ(origin_of(""), "");
}

TEST(QueryWithout, KeepsAllOtherParametersAsTheyCame) {
  struct Case {
    std::string_view url;
    std::string_view kept;
  };
  constexpr Case kCases[] = {
      {"/a", ""},
      {"/a#?x=1", ""},
      {"/a?", "?"},
      {"/a?#b?c", "?"},
      {"/a?b&c=d", "?b&c=d"},
      {"http://host?b=/c?d&", "?b=/c?d&"},
      {"/a?&&=&%zz&&", "?&&=&%zz&&"},
      {"/a?x", ""},
      {"/a?x=1&x=2", ""},
      {"/a?x=1&", "?"},
      {"/a?&x", "?"},
      {"/a?&x&", "?&"},
      {"/a?b&x=1=2&&c", "?b&&c"},
      {"/a?xx&X&%78&=x", "?xx&X&%78&=x"},
  };
  for (const Case& c : kCases) EXPECT_EQ(query_without(c.url, "x"), c.kept) << c.url;
}

TEST(Match, ComparesSegmentBySegment) {
  constexpr std::string_view kPattern = "/api/rooms/{roomID}/sandbox/exec";
  const auto found = match(kPattern, "/api/rooms/a%2Fb/sandbox/exec");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->room, "a%2Fb");
  const auto empty = match(kPattern, "/api/rooms//sandbox/exec");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->room, "");
  constexpr std::string_view kOthers[] = {"",
                                          "/",
                                          "/api/rooms/r",
                                          "/api/rooms/r/sandbox",
                                          "/api/rooms/r/sandbox/",
                                          "/api/rooms/r/sandbox/exec/",
                                          "/api/rooms/r/s/sandbox/exec",
                                          "/api/rooms/r/sandbox/exe",
                                          "/api/rooms/r/sandbox/execs",
                                          "/API/rooms/r/sandbox/exec",
                                          "//api/rooms/r/sandbox/exec",
                                          "api/rooms/r/sandbox/exec",
                                          "/api/rooms/r/sandbox%2Fexec"};
  for (std::string_view path : kOthers) EXPECT_FALSE(match(kPattern, path)) << path;
}

TEST(Match, TakesAnEmptyLastSegment) {
  const auto found = match("/api/rooms/{roomID}", "/api/rooms/");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->room, "");
  EXPECT_FALSE(match("/api/rooms/{roomID}", "/api/rooms"));
  EXPECT_FALSE(match("/health", "/health/"));
  EXPECT_TRUE(match("/health", "/health"));
}

TEST(Match, TakesTheRestOfAPath) {
  constexpr std::string_view kPattern = "/api/rooms/{roomID}/sandbox/files/{path}";
  struct Case {
    std::string_view path;
    std::string_view rest;
  };
  constexpr Case kCases[] = {{"a", "a"}, {"a/b/", "a/b/"}, {"", ""}, {"/", "/"}, {"a%2Fb//c", "a%2Fb//c"}};
  for (const Case& c : kCases) {
    const std::string path = "/api/rooms/r/sandbox/files/" + std::string(c.path);
    const auto found = match(kPattern, path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(found->room, "r");
    EXPECT_EQ(found->rest, c.rest);
  }
  EXPECT_FALSE(match(kPattern, "/api/rooms/r/sandbox/files"));
  EXPECT_FALSE(match(kPattern, "/api/rooms/r/sandbox/file/a"));
  EXPECT_FALSE(match("/health", "/health")->rest);
}

TEST(Match, TakesAPort) {
  constexpr std::string_view kPattern = "/ports/{port}/{path}";
  const auto found = match(kPattern, "/ports/30%300//a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->port, "30%300");
  EXPECT_EQ(found->rest, "/a");
  EXPECT_FALSE(match(kPattern, "/ports/3000"));
  const auto alone = match("/ports/{port}", "/ports/");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->port, "");
  EXPECT_FALSE(alone->rest);
}

TEST(Match, HasWhatThePatternNames) {
  constexpr std::string_view kPattern = "/api/rooms/{roomID}/sandbox/executions/{executionID}";
  EXPECT_EQ(match(kPattern, "/api/rooms/r/sandbox/executions/exec_1")->execution, "exec_1");
  EXPECT_EQ(match(kPattern, "/api/rooms//sandbox/executions/")->execution, "");
  EXPECT_FALSE(match("/api/rooms/{roomID}", "/api/rooms/r")->execution);
  EXPECT_FALSE(match("/health", "/health")->room);
}

}  // namespace
}  // namespace roombox::edge
