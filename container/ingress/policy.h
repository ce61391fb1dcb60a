#ifndef ROOMBOX_CONTAINER_INGRESS_POLICY_H_
#define ROOMBOX_CONTAINER_INGRESS_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace roombox::ingress {

// Ports of loopback that commands' connections and queries are turned to, while they may go out. A room's own
// servers cannot have them then, nor 39001 ever.
inline constexpr std::uint16_t kEgressPort = 39002;
inline constexpr std::uint16_t kDnsPort = 39003;
// On the packets of our own connections, the only ones that get out. To set it takes CAP_NET_ADMIN, which the
// sandbox lacks.
inline constexpr std::uint32_t kMark = 0x39002;

// Loads the nftables rules of `file` into the network namespace this process is in, with the variables set.
// All rules hold when it returns, or none does. Returns what went wrong, or nothing. Needs CAP_NET_ADMIN and
// the program `nft`.
std::optional<std::string> apply_rules(const std::string& file,
                                       const std::vector<std::pair<std::string, std::uint32_t>>& variables);

// Takes such rules away again, by the name of their table. Likewise.
std::optional<std::string> remove_table(const std::string& family, const std::string& name);

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_POLICY_H_
