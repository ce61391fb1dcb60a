#include "tests/agent/bench/load.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>

#include "tests/agent/bench/connection.h"

namespace roombox::bench {

Load::Load(std::uint16_t port, const std::vector<std::string>& requests, std::string expected)
    : expected_(std::move(expected)),
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
  char bytes[16 << 10];
  const auto size = must("recv", ::recv(client.socket.get(), bytes, sizeof bytes, 0));
  if (size == 0) fail("the server closed a connection");
  client.response.append(bytes, static_cast<std::size_t>(size));
  if (!is_whole(client.response)) return false;
  if (client.response.find(expected_) == client.response.npos) fail("not as expected: " + client.response);
  client.response.clear();
  return true;
}

bool Load::is_whole(const std::string& response) const {
  static constexpr std::string_view kLength = "Content-Length: ";
  const auto end = response.find("\r\n\r\n");
  if (end == response.npos) return false;
  const auto length = response.find(kLength);
  if (length > end) fail("a response without its length: " + response);
  return response.size() >= end + 4 + std::strtoull(response.c_str() + length + kLength.size(), nullptr, 10);
}

}  // namespace roombox::bench
