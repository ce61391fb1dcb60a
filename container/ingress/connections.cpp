#include "container/ingress/connections.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace roombox::ingress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;

// What one direction of a tunnel holds in memory at most: it reads on only once the other side took it all.
constexpr std::size_t kTunnelBuffer = 64 * 1024;
// Out of descriptors: ending the server would end every tunnel, so it waits for some to close.
constexpr std::chrono::milliseconds kAcceptPause{50};

// Copies until the end of `from`, then passes that end on: the other direction may still have much to say
// (a client that has sent its request and half-closes wants the answer). An error ends both directions.
asio::awaitable<void> copy(tcp::socket& from, tcp::socket& to) {
  std::array<char, kTunnelBuffer> buffer;
  for (;;) {
    const auto [read_error, count] = co_await from.async_read_some(asio::buffer(buffer), kAwait);
    boost::system::error_code ignored;
    if (read_error == asio::error::eof) {
      to.shutdown(tcp::socket::shutdown_send, ignored);
      co_return;
    }
    if (!read_error) {
      const auto [write_error, written] = co_await asio::async_write(to, asio::buffer(buffer, count), kAwait);
      if (!write_error) continue;
    }
    // Reset, not closed in order: who reads at the far end must not take a cut stream for a whole one.
    reset(from);
    reset(to);
    co_return;
  }
}

}  // namespace

void reset(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

asio::awaitable<void> tunnel(tcp::socket client, tcp::socket target, std::string_view early) {
  boost::system::error_code ignored;
  for (tcp::socket* socket : {&client, &target}) {
    socket->set_option(tcp::no_delay(true), ignored);
    // A peer that vanished without a word (a paused virtual machine) must not keep the tunnel for ever.
    socket->set_option(asio::socket_base::keep_alive(true), ignored);
  }
  if (!early.empty()) {
    const auto [error, written] = co_await asio::async_write(target, asio::buffer(early), kAwait);
    if (error) co_return;
  }
  co_await (copy(client, target) && copy(target, client));
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, Serve serve) {
  const auto executor = acceptor.get_executor();
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (error) {
      asio::steady_timer pause(executor, kAcceptPause);
      co_await pause.async_wait(kAwait);
      continue;
    }
    asio::co_spawn(executor, serve(std::move(socket)), asio::detached);
  }
}

}  // namespace roombox::ingress
