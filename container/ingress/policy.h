#ifndef ROOMBOX_CONTAINER_INGRESS_POLICY_H_
#define ROOMBOX_CONTAINER_INGRESS_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace roombox::ingress {

// Loads the nftables rules of `file` into the network namespace this process is in, with the variable
// `ingress_port` set to `port`. All rules hold when it returns, or none does.
// Returns what went wrong, or nothing. Needs CAP_NET_ADMIN and the program `nft`.
std::optional<std::string> apply_policy(const std::string& file, std::uint16_t port);

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_POLICY_H_
