#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// Connections that stay, each with one request at a time, driven by one thread and one epoll set: the
/// cheapest client there is, since it shares the processors with what it measures.
class Load {
 public:
  /// Whether a response, of which it gets head and body, is as expected.
  using Check = std::function<bool(const std::string&)>;

  Load(std::uint16_t port, int connections, const std::string& request, Check check)
      : Load(port, std::vector(static_cast<std::size_t>(connections), request), std::move(check)) {}

  /// @param requests one for each connection
  Load(std::uint16_t port, const std::vector<std::string>& requests, Check check);

  /// Has that many requests answered. Throws where an answer is not as expected.
  void run(int count);

 private:
  struct Client {
    std::string request;
    Fd socket;
    std::string response;
    std::size_t size = 0;  ///< Of the whole response, once its head is there.
  };

  bool receive(Client& client);

  const Check check_;
  std::vector<Client> clients_;
  Fd epoll_;
};

/// Of responses that hold a text.
inline Load::Check holds(std::string text) {
  return
      [text = std::move(text)](const std::string& response) { return response.find(text) != response.npos; };
}

}  // namespace roombox::bench
