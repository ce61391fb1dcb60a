#include "container/ingress/policy.h"

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace roombox::ingress {
namespace {

// Absolute, so that no PATH decides which program sets the policy.
constexpr const char* kNft = "/usr/sbin/nft";

}  // namespace

std::optional<std::string> apply_policy(const std::string& file, std::uint16_t port) {
  std::string define = "ingress_port=" + std::to_string(port);
  std::string name = file;
  std::string nft = kNft;
  std::string define_flag = "--define";
  std::string file_flag = "--file";
  const std::array<char*, 6> argv = {nft.data(),       define_flag.data(), define.data(),
                                     file_flag.data(), name.data(),        nullptr};
  const std::array<char*, 1> env = {nullptr};
  pid_t pid = -1;
  if (const int error = posix_spawn(&pid, kNft, nullptr, nullptr, argv.data(), env.data()); error != 0) {
    return std::string("cannot run ") + kNft + ": " + std::strerror(error);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return std::string("cannot wait for nft: ") + std::strerror(errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  return "nft refused " + file +
         " (its message is above): the kernel needs nf_tables, this process CAP_NET_ADMIN";
}

}  // namespace roombox::ingress
