#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace roombox {

/// The unprivileged user that commands run as.
struct Account {
  std::string name;
  uid_t uid;
  gid_t gid;
  std::string home;
};

/// Looks a user up by name or number in text of the form of passwd(5). Static glibc has no working
/// getpwnam(3).
std::optional<Account> find_account(std::string_view passwd, std::string_view user);

/// The account for `user` in this container's /etc/passwd; in an image that has no such user, uid and gid
/// 1000 with the home given. Never root: nullopt for an account whose uid or gid is 0.
std::optional<Account> account_for(std::string_view user, const std::string& fallback_home);

}  // namespace roombox
