#include "container/ingress/server.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "container/ingress/connections.h"

namespace roombox::ingress {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

// workerd's own requests are a few hundred bytes.
constexpr std::uint32_t kMaxHead = 16 * 1024;
constexpr std::uint64_t kMaxBody = 64 * 1024;
// A peer that says nothing must not keep a descriptor; between kept-alive requests too.
constexpr std::chrono::seconds kRequestTimeout{30};
// The sandbox is in this network namespace: it accepts or refuses at once unless its backlog is full.
constexpr std::chrono::seconds kConnectTimeout{5};

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response answer(const Request& request, http::status status, std::string body,
                std::string_view type = "text/plain") {
  Response response{status, request.version()};
  response.set(http::field::content_type, type);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(body);
  response.prepare_payload();
  return response;
}

// "127.0.0.1:8080" or "[::1]:8080"; names are not looked up: the room resolves none.
std::optional<tcp::endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);

  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc{} || end != port_text.data() + port_text.size() || port == 0) return std::nullopt;
  boost::system::error_code bad;
  const asio::ip::address address = asio::ip::make_address(host, bad);
  if (bad) return std::nullopt;
  return tcp::endpoint(address, port);
}

// Opens the connection a CONNECT asks for; what went wrong is in `why`.
asio::awaitable<std::optional<tcp::socket>> open_target(const Request& request, std::string& why) {
  const std::string_view name = request["X-Dst-Addr"].empty() ? request.target() : request["X-Dst-Addr"];
  const std::optional<tcp::endpoint> endpoint = parse_endpoint(name);
  if (!endpoint) {
    why = "X-Dst-Addr is not an address and a port";
    co_return std::nullopt;
  }
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(kConnectTimeout);
  const auto [error] = co_await stream.async_connect(*endpoint, kAwait);
  if (error) {
    why = "cannot connect to " + std::string(name) + ": " + error.message();
    co_return std::nullopt;
  }
  co_return stream.release_socket();
}

Response answer_plain(const Request& request, const Settings& settings) {
  if (request.method() == http::verb::put && request.target() == "/egress") {
    const auto problem = settings.configure_egress(request.body());
    if (!problem) return answer(request, http::status::ok, "");
    return answer(request, http::status::internal_server_error, *problem + "\n");
  }
  if (request.method() == http::verb::get && request.target() == "/ca") {
    return answer(request, http::status::ok, settings.certificate, "application/x-pem-file");
  }
  return answer(request, http::status::not_found, "not found\n");
}

asio::awaitable<void> serve_connection(tcp::socket socket, const Settings& settings) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::empty_body> head;
    head.header_limit(kMaxHead);
    stream.expires_after(kRequestTimeout);
    if (const auto [error, count] = co_await http::async_read_header(stream, buffer, head, kAwait); error)
      co_return;

    const bool wants_tunnel = head.get().method() == http::verb::connect;
    Request request;
    if (wants_tunnel) {
      request.base() = head.get().base();  // whatever follows the head is the tunnel's, not a body
    } else {
      http::request_parser<http::string_body> whole(std::move(head));
      whole.body_limit(kMaxBody);
      if (const auto [error, count] = co_await http::async_read(stream, buffer, whole, kAwait); error)
        co_return;
      request = whole.release();
    }

    std::string why;
    std::optional<tcp::socket> target;
    if (wants_tunnel) target = co_await open_target(request, why);
    stream.expires_after(kRequestTimeout);
    if (target) {
      // Without Content-Length or Transfer-Encoding: a 2xx to CONNECT has no body, the tunnel begins here.
      static constexpr std::string_view kEstablished = "HTTP/1.1 200 OK\r\n\r\n";
      const auto [error, count] = co_await asio::async_write(stream, asio::buffer(kEstablished), kAwait);
      if (error) co_return;
      // Bytes that came in one packet with the CONNECT are the tunnel's first.
      const std::string_view early(static_cast<const char*>(buffer.data().data()), buffer.size());
      co_return co_await tunnel(stream.release_socket(), std::move(*target), early);
    }
    const Response response = wants_tunnel ? answer(request, http::status::bad_request, why + "\n")
                                           : answer_plain(request, settings);
    const auto [error, count] = co_await http::async_write(stream, response, kAwait);
    if (error || response.need_eof() || !response.keep_alive()) co_return;
  }
}

}  // namespace

asio::awaitable<void> serve(tcp::acceptor& acceptor, const Settings& settings) {
  return accept_all(
      acceptor, [&settings](tcp::socket socket) { return serve_connection(std::move(socket), settings); });
}

}  // namespace roombox::ingress
