#include "container/account.h"

#include <array>
#include <fstream>
#include <iterator>

#include "container/sys/parse.h"

namespace roombox {
namespace {

constexpr uid_t kFallbackId = 1000;

/// name:password:uid:gid:gecos:home:shell
std::optional<Account> parse_line(std::string_view line) {
  std::array<std::string_view, 7> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto colon = line.find(':');
    if (colon == line.npos && i + 1 < fields.size()) return std::nullopt;
    fields[i] = line.substr(0, colon);
    line.remove_prefix(colon == line.npos ? line.size() : colon + 1);
  }
  const auto uid = sys::parse<uid_t>(fields[2]);
  const auto gid = sys::parse<gid_t>(fields[3]);
  if (!uid || !gid) return std::nullopt;
  return Account{std::string(fields[0]), *uid, *gid, std::string(fields[5])};
}

}  // namespace

std::optional<Account> find_account(std::string_view passwd, std::string_view user) {
  const auto uid = sys::parse<uid_t>(user);
  while (!passwd.empty()) {
    const auto end = passwd.find('\n');
    const auto account = parse_line(passwd.substr(0, end));
    if (account && (account->name == user || account->uid == uid)) return account;
    passwd.remove_prefix(end == passwd.npos ? passwd.size() : end + 1);
  }
  return std::nullopt;
}

std::optional<Account> account_for(std::string_view user, const std::string& fallback_home) {
  std::ifstream file("/etc/passwd");
  const std::string passwd{std::istreambuf_iterator<char>(file), {}};
  auto account = find_account(passwd, user);
  if (!account) account = Account{std::string(user), kFallbackId, kFallbackId, fallback_home};
  if (account->uid == 0 || account->gid == 0) return std::nullopt;
  return account;
}

}  // namespace roombox
