#ifndef ROOMBOX_CONTAINER_INGRESS_EGRESS_H_
#define ROOMBOX_CONTAINER_INGRESS_EGRESS_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/ingress/dns.h"

namespace roombox::ingress {

// Where the room's commands get out: to workerd alone, which is told what name they ask for and carries the
// requests to those that the deployment allows. Off until workerd tells of such names; then whatever a
// command connects to, it talks to this, and no packet of its own leaves the room.
class Egress {
 public:
  // `gateway` is where workerd listens; `port` is on that, until `configure` tells another. `rules` is the
  // file of nftables rules that turn commands' connections to this.
  Egress(boost::asio::io_context& io, boost::asio::ip::address gateway, std::uint16_t port,
         std::string rules);

  // Takes the body of `PUT /egress`: JSON with `port`, and in `dns.allowHostnames` the names, in which *
  // stands for any characters. Where there are no names it is off from now on. Returns what is wrong, or
  // nothing.
  std::optional<std::string> configure(std::string_view body);

 private:
  std::optional<std::string> turn(bool on);
  void stop();
  boost::asio::awaitable<void> carry(boost::asio::ip::tcp::socket client) const;

  boost::asio::io_context& io_;
  boost::asio::ip::address gateway_;
  std::uint16_t port_;
  std::string rules_;
  bool on_ = false;
  boost::asio::ip::tcp::acceptor acceptor_;
  Dns dns_;
};

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_EGRESS_H_
