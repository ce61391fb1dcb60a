#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// Connections that stay, each with one request at a time, driven by one thread and one epoll set: the
/// cheapest client there is, since it shares the processors with what it measures.
class Load {
 public:
  /// @param expected what each response, which must announce its length, has to hold
  Load(std::uint16_t port, int connections, const std::string& request, std::string expected)
      : Load(port, std::vector(static_cast<std::size_t>(connections), request), std::move(expected)) {}

  /// @param requests one for each connection
  Load(std::uint16_t port, const std::vector<std::string>& requests, std::string expected);

  /// Has that many requests answered. Throws where an answer is not as expected.
  void run(int count);

 private:
  struct Client {
    std::string request;
    Fd socket;
    std::string response;
  };

  bool receive(Client& client);
  bool is_whole(const std::string& response) const;

  const std::string expected_;
  std::vector<Client> clients_;
  Fd epoll_;
};

}  // namespace roombox::bench
