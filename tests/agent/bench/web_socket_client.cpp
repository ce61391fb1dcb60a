#include "tests/agent/bench/web_socket_client.h"

#include <sys/socket.h>

#include <cstring>

#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

constexpr std::size_t kStep = 256u << 10;
constexpr timeval kPatience{5, 0};
constexpr unsigned char kFinal = 0x80, kMasked = 0x80;
/// Lengths of a frame that stand for one in the 2 or 8 bytes that follow (RFC 6455, 5.2).
constexpr std::size_t kTwoBytes = 126, kEightBytes = 127;

}  // namespace

WebSocketClient::WebSocketClient(std::uint16_t port, const std::string& target, const std::string& headers)
    : socket_(connect_to(port)) {
  must("setsockopt", ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience));
  send_all(socket_.get(), get(target,
                              "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: cm9vbWJveC1iZW5jaG1hcg==\r\n" +
                                  headers));
  std::size_t head;
  while ((head = std::string_view(buffer_).substr(0, end_).find("\r\n\r\n")) == buffer_.npos) receive();
  if (!buffer_.starts_with("HTTP/1.1 101")) fail("no WebSocket: " + buffer_.substr(0, head));
  at_ = head + 4;
}

void WebSocketClient::send(Kind kind, std::string_view payload) {
  if (payload.size() >= kTwoBytes) fail("a message too long for this client");
  std::string frame{static_cast<char>(kFinal | static_cast<int>(kind)),
                    static_cast<char>(kMasked | payload.size()),
                    0,
                    0,
                    0,
                    0};
  send_all(socket_.get(), frame.append(payload));
}

WebSocketClient::Message WebSocketClient::read() {
  for (;;) {
    if (const auto message = take()) return *message;
    receive();
  }
}

std::optional<WebSocketClient::Message> WebSocketClient::take() {
  const auto* bytes = reinterpret_cast<const unsigned char*>(buffer_.data()) + at_;
  const auto there = end_ - at_;
  if (there < 2) return std::nullopt;
  std::size_t size = bytes[1], head = 2;
  if (size == kTwoBytes || size == kEightBytes) {
    const std::size_t count = size == kTwoBytes ? 2 : 8;
    head += count;
    if (there < head) return std::nullopt;
    size = 0;
    for (std::size_t i = 2; i < head; ++i) size = size << 8 | bytes[i];
  }
  if (there < head + size) return std::nullopt;
  at_ += head + size;
  return Message{static_cast<Kind>(bytes[0] & 0x0f), {buffer_.data() + at_ - size, size}};
}

void WebSocketClient::receive() {
  if (at_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
  }
  if (buffer_.size() < end_ + kStep) buffer_.resize(end_ + kStep);
  const auto size = ::recv(socket_.get(), buffer_.data() + end_, kStep, 0);
  if (size < 0 && errno == EAGAIN) fail("nothing comes any more");
  if (must("recv", size) == 0) fail("the WebSocket has ended");
  end_ += static_cast<std::size_t>(size);
}

}  // namespace roombox::bench
