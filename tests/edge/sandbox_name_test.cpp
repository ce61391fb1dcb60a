#include "wasm/protocol/sandbox_name.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

TEST(SandboxName, HoldsTheRoomsId) {
  EXPECT_EQ(sandbox_name("room-123"), "sandbox-room-123");
  EXPECT_EQ(room_of("sandbox-room-123"), "room-123");
  EXPECT_EQ(room_of(sandbox_name("sandbox-x")), "sandbox-x");
  EXPECT_EQ(room_of("other"), "other");
}

}  // namespace
}  // namespace roombox
