#include "tests/agent/bench/load.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cctype>
#include <cstdlib>

#include "tests/agent/bench/connection.h"

namespace roombox::bench {
namespace {

constexpr std::size_t kChunked = std::string::npos;
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";  // no output that is measured looks like it

/// How many bytes a response has, by its head; kChunked where that does not tell, 0 as long as it is not
/// there.
std::size_t size_of(std::string_view response) {
  const auto end = response.find("\r\n\r\n");
  if (end == response.npos) return 0;
  std::string head(response.substr(0, end));
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::string_view kLength = "\r\ncontent-length: ";
  if (const auto at = head.find(kLength); at != head.npos)
    return end + 4 + std::strtoull(head.c_str() + at + kLength.size(), nullptr, 10);
  if (head.find("\r\ntransfer-encoding: chunked") == head.npos)
    fail("a response without its length: " + head);
  return kChunked;
}

}  // namespace

Load::Load(std::uint16_t port, const std::vector<std::string>& requests, Check check)
    : check_(std::move(check)),
      clients_(requests.size()),
      epoll_(must("epoll_create1", ::epoll_create1(EPOLL_CLOEXEC))) {
  for (std::size_t i = 0; auto& client : clients_) {
    client.request = requests[i++];
    client.socket = connect_to(port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &client;
    must("epoll_ctl", ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.socket.get(), &event));
  }
}

void Load::run(int count) {
  int sent = 0, answered = 0;
  for (auto& client : clients_) {
    if (sent == count) break;
    send_all(client.socket.get(), client.request);
    ++sent;
  }
  std::array<epoll_event, 64> events;
  while (answered < count) {
    const int ready =
        must("epoll_wait", ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1));
    for (int i = 0; i < ready; ++i) {
      auto& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!receive(client)) continue;
      ++answered;
      if (sent == count) continue;
      send_all(client.socket.get(), client.request);
      ++sent;
    }
  }
}

/// Takes what has arrived; whether that made a response whole.
bool Load::receive(Client& client) {
  static char bytes[64u << 10];
  const auto size = must("recv", ::recv(client.socket.get(), bytes, sizeof bytes, 0));
  if (size == 0) fail("the server closed a connection");
  client.response.append(bytes, static_cast<std::size_t>(size));
  if (client.size == 0) client.size = size_of(client.response);
  if (client.size == 0) return false;
  if (client.size == kChunked ? !client.response.ends_with(kLastChunk) : client.response.size() < client.size)
    return false;
  if (!check_(client.response)) fail("an answer not as expected: " + client.response.substr(0, 300));
  client.response.clear();
  client.size = 0;
  return true;
}

}  // namespace roombox::bench
