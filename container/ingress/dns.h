#ifndef ROOMBOX_CONTAINER_INGRESS_DNS_H_
#define ROOMBOX_CONTAINER_INGRESS_DNS_H_

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roombox::ingress {

// The room's only name server. It asks nobody, so that no name, which could be made of a secret, leaves the
// room: the names that are allowed have one address, which is nobody's, and the others do not exist.
class Dns {
 public:
  explicit Dns(boost::asio::io_context& io);

  // Patterns of names, lower case, in which * stands for any characters.
  void allow(std::vector<std::string> patterns) { patterns_ = std::move(patterns); }
  // Answers on loopback, by UDP and TCP, until `close`.
  void listen();
  void close();

  // The reply to a query; none to what is no query (RFC 1035, 4.1).
  std::optional<std::string> reply_to(std::string_view query) const;

 private:
  boost::asio::awaitable<void> serve_datagrams();
  boost::asio::awaitable<void> serve_connection(boost::asio::ip::tcp::socket socket) const;
  bool allows(const std::string& name) const;

  boost::asio::io_context& io_;
  boost::asio::ip::udp::socket socket_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::string> patterns_;
};

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_DNS_H_
