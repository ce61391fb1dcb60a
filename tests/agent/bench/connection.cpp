#include "tests/agent/bench/connection.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>

namespace roombox::bench {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

}  // namespace

std::string get(std::string_view target, std::string_view headers) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: sandbox\r\n" + std::string(headers) + "\r\n";
}

std::string post(std::string_view target, std::string_view body, std::string_view headers) {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: sandbox\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" +
         std::string(body);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Fd connect_to(std::uint16_t port, int receive_buffer) {
  Fd socket(must("socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  if (receive_buffer > 0)
    must("setsockopt",
         ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer));
  const int on = 1;
  must("setsockopt", ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  const auto address = loopback(port);
  must("connect", ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return socket;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = must("send", ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

std::string_view Connection::Response::header(std::string_view name) const {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  const std::string_view text = head;
  const auto field = "\r\n" + std::string(name) + ": ";
  const auto begin = std::search(text.begin(), text.end(), field.begin(), field.end(), same);
  if (begin == text.end()) return {};
  const auto from = static_cast<std::size_t>(begin - text.begin()) + field.size();
  return text.substr(from, text.find(kLineEnd, from) - from);
}

/// Whether there was more.
bool Connection::receive(std::size_t most) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
  } else {
    buffer_.erase(0, at_);
  }
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + most);
  const auto size = must("recv", ::recv(socket_.get(), buffer_.data() + before, most, 0));
  buffer_.resize(before + static_cast<std::size_t>(size));
  return size > 0;
}

std::string_view Connection::line() {
  std::size_t end;
  while ((end = buffer_.find(kLineEnd, at_)) == buffer_.npos) {
    if (!receive(4096)) fail("the connection ended within a response");
  }
  const auto text = std::string_view(buffer_).substr(at_, end - at_);
  at_ = end + kLineEnd.size();
  return text;
}

Connection::Response Connection::receive_head() {
  Response response{0, {}, {}};
  for (std::string text(line()); !text.empty(); text = line()) response.head += text + "\r\n";
  if (!response.head.starts_with("HTTP/1.1 ")) fail("no response: " + response.head);
  response.status = std::stoi(response.head.substr(9, 3));
  const auto length = response.header("Content-Length");
  in_chunk_ = false;
  left_ = 0;
  if (response.header("Transfer-Encoding") == "chunked") {
    framing_ = Framing::Chunks;
  } else if (!length.empty() || response.status == 204) {
    framing_ = Framing::Length;
    left_ = length.empty() ? 0 : std::stoull(std::string(length));
  } else {
    framing_ = Framing::Close;
  }
  return response;
}

std::string_view Connection::receive_body(std::size_t most) {
  if (framing_ == Framing::Chunks && left_ == 0) {
    if (std::exchange(in_chunk_, true) && !line().empty()) fail("a chunk is longer than it says");
    left_ = std::stoull(std::string(line()), nullptr, 16);
    if (left_ == 0) {
      if (!line().empty()) fail("something follows the last chunk");
      framing_ = Framing::Length;
    }
  }
  if (framing_ == Framing::Close) left_ = most;
  if (left_ == 0) return {};
  if (at_ == buffer_.size() && !receive(most)) {
    if (framing_ == Framing::Close) return {};
    fail("the connection ended within a body");
  }
  const auto size = std::min<std::uint64_t>({left_, buffer_.size() - at_, most});
  const auto bytes = std::string_view(buffer_).substr(at_, size);
  at_ += size;
  left_ -= size;
  return bytes;
}

Connection::Response Connection::exchange(std::string_view request) {
  send(request);
  auto response = receive_head();
  for (auto bytes = receive_body(); !bytes.empty(); bytes = receive_body()) response.body += bytes;
  return response;
}

void Connection::shut_down() {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace roombox::bench
