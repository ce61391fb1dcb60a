#ifndef ROOMBOX_CONTAINER_INGRESS_SERVER_H_
#define ROOMBOX_CONTAINER_INGRESS_SERVER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roombox::ingress {

struct Settings {
  // The PEM text that `GET /ca` answers.
  std::string certificate;
  // Takes the body of `PUT /egress`; returns what is wrong, or nothing.
  std::function<std::optional<std::string>(std::string_view body)> configure_egress;
};

// Accepts until the acceptor is closed; every connection is a coroutine of its own on the acceptor's
// executor. One request per connection is a tunnel (`CONNECT`, to the address in `X-Dst-Addr`); the others
// are answered. The settings must outlive all of them.
boost::asio::awaitable<void> serve(boost::asio::ip::tcp::acceptor& acceptor, const Settings& settings);

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_SERVER_H_
