#include "container/ingress/egress.h"

#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/none.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "container/ingress/connections.h"
#include "container/ingress/policy.h"

namespace roombox::ingress {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

// A head of a request, of which the name is read; clients' own are at most some kilobytes.
constexpr std::uint32_t kMaxHead = 64 * 1024;
constexpr std::size_t kReadSize = 16 * 1024;
// What is for the ingress's log only.
constexpr std::size_t kMaxLogged = 128;
// A command that says nothing gets nowhere, as none does that waits for the other side's first word.
constexpr std::chrono::seconds kHeadTimeout{5};
constexpr std::chrono::seconds kConnectTimeout{5};
// The first byte of a TLS handshake (RFC 8446, 5.1), which no HTTP request begins with.
constexpr char kTlsHandshake = 0x16;

// Where a connection went before the rules turned it here. None that was made to here itself.
std::optional<tcp::endpoint> original_destination(tcp::socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (getsockopt(socket.native_handle(), SOL_IP, SO_ORIGINAL_DST, &address, &size) != 0) return std::nullopt;
  const tcp::endpoint endpoint(asio::ip::address_v4(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port));
  boost::system::error_code error;
  if (endpoint == socket.local_endpoint(error) || error) return std::nullopt;
  return endpoint;
}

std::string text_of(const tcp::endpoint& endpoint) {
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

// A name with or without a port, as it may stand in a Host header; nothing that could be read as more than
// that.
bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
}

// What a command has said so far, and whom it asks for. Empty if it asks for nobody, with `why`.
struct Head {
  std::string bytes;
  std::string host;
  std::string why;
};

asio::awaitable<Head> read_head(beast::tcp_stream& stream) {
  Head head;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxHead);
  parser.body_limit(boost::none);  // the body goes by unread: how long it may be is its reader's to say
  stream.expires_after(kHeadTimeout);
  for (std::size_t parsed = 0; !parser.is_header_done();) {
    const std::size_t size = head.bytes.size();
    head.bytes.resize(size + kReadSize);
    const auto [error, count] =
        co_await stream.async_read_some(asio::buffer(&head.bytes[size], kReadSize), kAwait);
    head.bytes.resize(size + count);
    if (error) {
      head.why = error == beast::error::timeout ? "it said nothing" : error.message();
      co_return head;
    }
    if (head.bytes.front() == kTlsHandshake) {
      head.why = "HTTPS does not pass this stand-in, only the platform's interceptor (docs/egress.md)";
      co_return head;
    }
    boost::system::error_code bad;
    parsed += parser.put(asio::buffer(head.bytes) + parsed, bad);
    if (bad && bad != http::error::need_more) {
      head.why = "it speaks no HTTP: " + bad.message();
      co_return head;
    }
  }
  const auto& fields = parser.get();
  const std::string_view host = fields[http::field::host];
  // Two could be taken differently here and by who reads them next.
  if (fields.count(http::field::host) == 1 && is_host(host)) head.host = host;
  if (head.host.empty()) head.why = "no Host that is a name";
  co_return head;
}

// The connection through which workerd is asked for a host.
struct Tunnel {
  tcp::socket socket;
  beast::flat_buffer early;
};

asio::awaitable<std::optional<Tunnel>> ask(const tcp::endpoint& workerd, const std::string& destination,
                                           const std::string& host, std::string& why) {
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.socket().open(workerd.protocol());
  if (setsockopt(stream.socket().native_handle(), SOL_SOCKET, SO_MARK, &kMark, sizeof(kMark)) != 0) {
    why = "cannot mark a connection";
    co_return std::nullopt;
  }
  stream.expires_after(kConnectTimeout);
  if (const auto [error] = co_await stream.async_connect(workerd, kAwait); error) {
    why = "workerd at " + text_of(workerd) + ": " + error.message();
    co_return std::nullopt;
  }
  http::request<http::empty_body> request(http::verb::connect, destination, 11);
  request.set(http::field::host, destination);
  request.set("X-Hostname", host);
  if (const auto [error, count] = co_await http::async_write(stream, request, kAwait); error) {
    why = "workerd: " + error.message();
    co_return std::nullopt;
  }
  http::response_parser<http::empty_body> reply;
  reply.skip(true);  // a 2xx to CONNECT has no body: the tunnel begins there
  beast::flat_buffer early;
  if (const auto [error, count] = co_await http::async_read_header(stream, early, reply, kAwait); error) {
    why = "workerd: " + error.message();
    co_return std::nullopt;
  }
  // 200: workerd has a place for it. Others, 202 above all, offer a way to the internet as it is, which is
  // not there.
  if (reply.get().result() != http::status::ok) {
    why = "not allowed";
    co_return std::nullopt;
  }
  co_return Tunnel{stream.release_socket(), std::move(early)};
}

}  // namespace

Egress::Egress(asio::io_context& io, asio::ip::address gateway, std::uint16_t port, std::string rules)
    : io_(io), gateway_(std::move(gateway)), port_(port), rules_(std::move(rules)), acceptor_(io), dns_(io) {}

std::optional<std::string> Egress::configure(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return "the body is no JSON object";
  if (const auto port = json.find("port"); port != json.end() && port->is_number_unsigned()) {
    port_ = port->get<std::uint16_t>();
  }
  const auto dns = json.find("dns");
  if (dns == json.end() || !dns->is_object()) return std::nullopt;  // only the port is another
  std::vector<std::string> names;
  for (const auto& name : dns->value("allowHostnames", nlohmann::json::array())) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  const bool on = !names.empty();
  dns_.allow(std::move(names));
  return on == on_ ? std::nullopt : turn(on);
}

std::optional<std::string> Egress::turn(bool on) {
  if (!on) {
    stop();
    return remove_table("ip", "roombox_egress");
  }
  // Listening before the rules send anybody there.
  try {
    acceptor_ = tcp::acceptor(io_, {asio::ip::address_v4::loopback(), kEgressPort});
    dns_.listen();
  } catch (const boost::system::system_error& error) {
    stop();
    return std::string("cannot listen for what is to go out: ") + error.what();
  }
  asio::co_spawn(io_, accept_all(acceptor_, [this](tcp::socket socket) { return carry(std::move(socket)); }),
                 asio::detached);
  const auto problem = apply_rules(rules_, {{"egress_port", kEgressPort}, {"dns_port", kDnsPort}});
  if (problem) stop();
  on_ = !problem;
  return problem;
}

void Egress::stop() {
  on_ = false;
  acceptor_.close();
  dns_.close();
}

asio::awaitable<void> Egress::carry(tcp::socket client) const {
  const auto destination = original_destination(client);
  if (!destination) co_return;
  beast::tcp_stream stream(std::move(client));
  Head head = co_await read_head(stream);
  client = stream.release_socket();
  if (!head.host.empty()) {
    auto way = co_await ask({gateway_, port_}, text_of(*destination), head.host, head.why);
    if (way) {
      // What workerd said first, which is nothing: the request is not there yet.
      boost::system::error_code ignored;
      if (way->early.size() > 0) asio::write(client, way->early.data(), ignored);
      co_return co_await tunnel(std::move(client), std::move(way->socket), head.bytes);
    }
  }
  std::cerr << "roombox-ingress: refused " << head.host.substr(0, kMaxLogged) << " at "
            << text_of(*destination) << ": " << head.why << std::endl;
  reset(client);
}

}  // namespace roombox::ingress
