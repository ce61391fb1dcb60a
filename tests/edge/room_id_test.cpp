#include "wasm/room_id.h"

#include <gtest/gtest.h>

#include "wasm/protocol/limits.h"

namespace roombox::edge {
namespace {

TEST(RoomId, TakesWhatTheRuleAllows) {
  const std::string ids[] = {"a",
                             "0",
                             "room-123",
                             "A.b_c-9",
                             "0190b5c2-7b1e-7cc3-98d4-2f6c3a0e5b11",  // UUID
                             "01J9ZQ4M7R8S2T3V4W5X6Y7Z8A",            // ULID
                             std::string(limits::kRoomId, 'x')};
  for (const std::string& id : ids) EXPECT_EQ(parse_room_id(id), id);
}

TEST(RoomId, RefusesWhatTheRuleForbids) {
  const std::string segments[] = {"",
                                  "-a",
                                  "a-",
                                  ".a",
                                  "a.",
                                  "_a",
                                  "a_",
                                  ".",
                                  "..",
                                  "a b",
                                  "a+b",
                                  "a/b",
                                  "a\\b",
                                  "a~b",
                                  "ü",
                                  "a:b",
                                  "a@b",
                                  "a\n",
                                  "\na",
                                  "a%",
                                  "%",
                                  "%4",
                                  "a%zz",
                                  "a%2",
                                  "%%",
                                  "a% 1",
                                  "a%2Fb",
                                  "a%2fb",
                                  "a%00b",
                                  "%00",
                                  "a%0A",
                                  "%2e%2e",
                                  "a%20b",
                                  std::string("a\0b", 3),
                                  std::string(limits::kRoomId + 1, 'x')};
  for (const std::string& segment : segments) EXPECT_EQ(parse_room_id(segment), std::nullopt) << segment;
}

TEST(RoomId, IsDecodedOnceAndCountedDecoded) {
  EXPECT_EQ(parse_room_id("%61b%2Dc"), "ab-c");
  EXPECT_EQ(parse_room_id("%2561"),
            std::nullopt);  // decoded once it is %61, which has a character of its own
  std::string encoded;
  for (std::size_t count = 0; count < limits::kRoomId; ++count) encoded += "%78";
  EXPECT_EQ(parse_room_id(encoded), std::string(limits::kRoomId, 'x'));
  EXPECT_EQ(parse_room_id(encoded + "%78"), std::nullopt);
  EXPECT_EQ(parse_room_id(std::string(1u << 20, 'x')), std::nullopt);
}

TEST(RoomId, IsNeverRewritten) {
  EXPECT_EQ(parse_room_id("Room"), "Room");
  EXPECT_NE(parse_room_id("Room"), parse_room_id("room"));
}

}  // namespace
}  // namespace roombox::edge
