#include "container/ingress/dns.h"

#include <fnmatch.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstdint>
#include <utility>

#include "container/ingress/connections.h"
#include "container/ingress/policy.h"

namespace roombox::ingress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;

// RFC 1035: 4.1.1 the header, 4.1.2 the question, 3.2 types and classes, 4.1.1 response codes.
constexpr std::size_t kHeader = 12;
constexpr std::uint16_t kTypeA = 1;
constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint16_t kNotImplemented = 4;
constexpr std::uint16_t kNoSuchName = 3;
constexpr std::uint16_t kIsReply = 0x8000;
constexpr std::uint16_t kOpcode = 0x7800;
constexpr std::uint16_t kWantsRecursion = 0x0100;
constexpr std::uint16_t kHasRecursion = 0x0080;
// Longer ones point into the message, which a question has no reason to.
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxName = 255;

// Of a network that is for benchmarks and nowhere routed (RFC 2544), whoever's name it is: the connection
// tells whose.
constexpr std::array<unsigned char, 4> kAddress = {198, 18, 0, 1};
// Seconds for which it may be remembered.
constexpr std::uint32_t kTimeToLive = 60;
// A query by TCP comes whole and at once.
constexpr std::chrono::seconds kTimeout{5};

std::uint16_t word_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

void put(std::string& out, std::uint16_t word) {
  out += static_cast<char>(word >> 8);
  out += static_cast<char>(word & 0xff);
}

// The first question of a message.
struct Question {
  std::string name;  // lower case, without the last dot
  std::uint16_t type = 0;
  std::uint16_t type_class = 0;
  std::size_t end = 0;  // in the message
};

std::optional<Question> question_of(std::string_view query) {
  Question question;
  std::size_t at = kHeader;
  for (;;) {
    if (at >= query.size()) return std::nullopt;
    const std::size_t length = static_cast<unsigned char>(query[at++]);
    if (length == 0) break;
    if (length > kMaxLabel || length > query.size() - at || question.name.size() + length > kMaxName)
      return std::nullopt;
    if (!question.name.empty()) question.name += '.';
    question.name += query.substr(at, length);
    at += length;
  }
  if (query.size() - at < 4) return std::nullopt;
  for (char& c : question.name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '\0') return std::nullopt;  // fnmatch would see less than is asked
  }
  question.type = word_at(query, at);
  question.type_class = word_at(query, at + 2);
  question.end = at + 4;
  return question;
}

}  // namespace

Dns::Dns(asio::io_context& io) : io_(io), socket_(io), acceptor_(io) {}

void Dns::listen() {
  const auto loopback = asio::ip::address_v4::loopback();
  socket_ = udp::socket(io_, {loopback, kDnsPort});
  acceptor_ = tcp::acceptor(io_, {loopback, kDnsPort});
  asio::co_spawn(io_, serve_datagrams(), asio::detached);
  asio::co_spawn(
      io_, accept_all(acceptor_, [this](tcp::socket socket) { return serve_connection(std::move(socket)); }),
      asio::detached);
}

void Dns::close() {
  socket_.close();
  acceptor_.close();
}

bool Dns::allows(const std::string& name) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

std::optional<std::string> Dns::reply_to(std::string_view query) const {
  if (query.size() < kHeader) return std::nullopt;
  const std::uint16_t flags = word_at(query, 2);
  const auto question = question_of(query);
  if ((flags & kIsReply) != 0 || word_at(query, 4) != 1 || !question) return std::nullopt;

  std::uint16_t code = 0;
  if ((flags & kOpcode) != 0) code = kNotImplemented;
  if (code == 0 && !allows(question->name)) code = kNoSuchName;
  const bool has_address = code == 0 && question->type == kTypeA && question->type_class == kClassInternet;

  std::string reply(query.substr(0, 2));  // its id
  put(reply,
      static_cast<std::uint16_t>(kIsReply | (flags & (kOpcode | kWantsRecursion)) | kHasRecursion | code));
  put(reply, 1);            // question
  put(reply, has_address);  // answers
  put(reply, 0);
  put(reply, 0);
  reply += query.substr(kHeader, question->end - kHeader);
  if (has_address) {
    put(reply, 0xc000 | kHeader);  // the name: where the question has it
    put(reply, kTypeA);
    put(reply, kClassInternet);
    put(reply, kTimeToLive >> 16);
    put(reply, kTimeToLive & 0xffff);
    put(reply, kAddress.size());
    reply.append(kAddress.begin(), kAddress.end());
  }
  return reply;
}

asio::awaitable<void> Dns::serve_datagrams() {
  std::array<char, 1024> buffer;
  while (socket_.is_open()) {
    udp::endpoint sender;
    const auto [error, count] = co_await socket_.async_receive_from(asio::buffer(buffer), sender, kAwait);
    if (error) continue;
    const auto reply = reply_to({buffer.data(), count});
    if (reply) co_await socket_.async_send_to(asio::buffer(*reply), sender, kAwait);
  }
}

// Queries one after the other, each with its length in front (RFC 1035, 4.2.2).
asio::awaitable<void> Dns::serve_connection(tcp::socket socket) const {
  boost::beast::tcp_stream stream(std::move(socket));
  for (;;) {
    stream.expires_after(kTimeout);
    std::string query(2, '\0');
    if (const auto [error, count] = co_await asio::async_read(stream, asio::buffer(query), kAwait); error)
      co_return;
    query.resize(word_at(query, 0));
    if (const auto [error, count] = co_await asio::async_read(stream, asio::buffer(query), kAwait); error)
      co_return;
    const auto reply = reply_to(query);
    if (!reply) co_return;
    std::string message;
    put(message, static_cast<std::uint16_t>(reply->size()));
    message += *reply;
    if (const auto [error, count] = co_await asio::async_write(stream, asio::buffer(message), kAwait); error)
      co_return;
  }
}

}  // namespace roombox::ingress
