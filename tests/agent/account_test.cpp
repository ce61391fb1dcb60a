#include "container/account.h"

#include <gtest/gtest.h>

namespace roombox {
namespace {

constexpr char kPasswd[] =
    "root:x:0:0:root:/root:/bin/bash\n"
    "broken line\n"
    "odd:x:notanumber:5::/:/bin/sh\n"
    "sandbox:x:1000:1001:,,,:/home/sandbox:/bin/bash\n"
    "last:x:7:8::/var/last:/bin/sh";

TEST(Account, IsFoundByName) {
  const auto account = find_account(kPasswd, "sandbox");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->uid, 1000u);
  EXPECT_EQ(account->gid, 1001u);
  EXPECT_EQ(account->home, "/home/sandbox");
}

TEST(Account, IsFoundByNumberAndInALastLineWithoutNewline) {
  const auto account = find_account(kPasswd, "7");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->name, "last");
}

TEST(Account, IsNotInventedFromBrokenLines) {
  EXPECT_FALSE(find_account(kPasswd, "odd"));
  EXPECT_FALSE(find_account(kPasswd, "broken line"));
  EXPECT_FALSE(find_account("", "sandbox"));
}

TEST(Account, OfAnImageWithoutTheUserIsUnprivilegedAllTheSame) {
  const auto account = account_for("no-such-user", "/workspace");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->uid, 1000u);
  EXPECT_EQ(account->gid, 1000u);
  EXPECT_EQ(account->home, "/workspace");
}

TEST(Account, IsNeverRoot) {
  EXPECT_FALSE(account_for("root", "/workspace"));
  EXPECT_FALSE(account_for("0", "/workspace"));
}

}  // namespace
}  // namespace roombox
