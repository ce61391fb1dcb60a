#ifndef ROOMBOX_CONTAINER_INGRESS_CONNECTIONS_H_
#define ROOMBOX_CONTAINER_INGRESS_CONNECTIONS_H_

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <string_view>

namespace roombox::ingress {

// Failures of a connection end that connection, so they come as values, not as exceptions.
inline constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

using Serve = std::function<boost::asio::awaitable<void>(boost::asio::ip::tcp::socket)>;

// Accepts until the acceptor is closed; each connection is served by a coroutine of its own on the acceptor's
// executor.
boost::asio::awaitable<void> accept_all(boost::asio::ip::tcp::acceptor& acceptor, Serve serve);

// Carries bytes both ways until both have ended, `early` to the target first. An error of one side resets the
// other.
boost::asio::awaitable<void> tunnel(boost::asio::ip::tcp::socket client, boost::asio::ip::tcp::socket target,
                                    std::string_view early);

// Ends a connection so that its peer cannot take it for one that ended in order.
void reset(boost::asio::ip::tcp::socket& socket);

}  // namespace roombox::ingress

#endif  // ROOMBOX_CONTAINER_INGRESS_CONNECTIONS_H_
