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

std::optional<std::string> run_nft(std::vector<std::string> arguments, const std::string& what) {
  std::string program = kNft;
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
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
  return "nft refused " + what +
         " (its message is above): the kernel needs nf_tables, this process CAP_NET_ADMIN";
}

}  // namespace

std::optional<std::string> apply_rules(const std::string& file,
                                       const std::vector<std::pair<std::string, std::uint32_t>>& variables) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : variables) {
    arguments.insert(arguments.end(), {"--define", name + "=" + std::to_string(value)});
  }
  arguments.insert(arguments.end(), {"--file", file});
  return run_nft(std::move(arguments), file);
}

std::optional<std::string> remove_table(const std::string& family, const std::string& name) {
  return run_nft({"delete", "table", family, name}, "to take " + name + " away");
}

}  // namespace roombox::ingress
