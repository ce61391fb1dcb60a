#include "wasm/protocol/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

TEST(Error, RendersFieldErrorsAsThePublishedPageDoes) {
  EXPECT_EQ(
      render(invalid_request({{"cmd", "Command cannot be empty"}}), Dialect::Rooms),
      R"({"error":"invalid request","details":{"cmd":["Command cannot be empty"]},"code":"invalid_request"})");
}

TEST(Error, RendersNoDetailsWhereThereAreNone) {
  EXPECT_EQ(render({ErrorCode::NotFound, "not found - room ID is required"}, Dialect::Rooms),
            R"({"error":"not found - room ID is required","code":"not_found"})");
}

TEST(Error, GathersMessagesByFieldInOrderOfFirstMention) {
  EXPECT_EQ(render(invalid_request({{"b", "1"}, {"a", "2"}, {"b", "3"}}), Dialect::Rooms),
            R"({"error":"invalid request","details":{"b":["1","3"],"a":["2"]},"code":"invalid_request"})");
}

TEST(Error, EscapesWhatACallerSent) {
  EXPECT_EQ(render(invalid_request({{"a\"\n", "\x01"}}), Dialect::Rooms),
            R"({"error":"invalid request","details":{"a\"\n":["\u0001"]},"code":"invalid_request"})");
}

TEST(Error, HasAStatusAndANameOfItsOwnForEachCode) {
  struct Case {
    ErrorCode code;
    int status;
    std::string_view name;
  };
  constexpr Case kCases[] = {
      {ErrorCode::InvalidRequest, 400, "invalid_request"},
      {ErrorCode::Unauthorized, 401, "unauthorized"},
      {ErrorCode::NotFound, 404, "not_found"},
      {ErrorCode::MethodNotAllowed, 405, "method_not_allowed"},
      {ErrorCode::Gone, 410, "gone"},
      {ErrorCode::PreconditionFailed, 412, "precondition_failed"},
      {ErrorCode::PayloadTooLarge, 413, "payload_too_large"},
      {ErrorCode::UrlTooLong, 414, "url_too_long"},
      {ErrorCode::UnsupportedMediaType, 415, "unsupported_media_type"},
      {ErrorCode::RangeNotSatisfiable, 416, "range_not_satisfiable"},
      {ErrorCode::TooManyRooms, 429, "too_many_rooms"},
      {ErrorCode::HeadersTooLarge, 431, "headers_too_large"},
      {ErrorCode::ExecutionFailed, 500, "execution_failed"},
      {ErrorCode::Internal, 500, "internal"},
      {ErrorCode::Unavailable, 503, "unavailable"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(http_status(c.code), c.status) << c.name;
    EXPECT_EQ(name(c.code), c.name);
  }
}

TEST(Dialect, HasANameThatFindsIt) {
  EXPECT_EQ(name(Dialect::Rooms), "rooms");
  EXPECT_EQ(dialect_named("rooms"), Dialect::Rooms);
  EXPECT_EQ(dialect_named("Rooms"), std::nullopt);
  EXPECT_EQ(dialect_named(""), std::nullopt);
}

TEST(Messages, FillsNamesInTheirOrder) {
  EXPECT_EQ(messages::fill("a <x> b <y>", {"1", "2"}), "a 1 b 2");
  EXPECT_EQ(messages::fill("to have <=<limit> bytes", {"7"}), "to have <=7 bytes");
  EXPECT_EQ(messages::fill("<x>", {"<y>"}), "<y>");  // what is put in is not looked at again
  EXPECT_EQ(messages::fill("plain", {}), "plain");
}

}  // namespace
}  // namespace roombox
