#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// Connections that stay, each with one request at a time, driven by one thread and one epoll set: the
/// cheapest client there is, since it shares the processors with what it measures.
class Load {
 public:
  /// @param expected what each response, which must announce its length, has to hold
  Load(std::uint16_t port, int connections, std::string request, std::string expected);

  /// Has that many requests answered. Throws where an answer is not as expected.
  void run(int count);

 private:
  struct Client {
    Fd socket;
    std::string response;
  };

  bool receive(Client& client);
  bool is_whole(const std::string& response) const;

  const std::string request_, expected_;
  std::vector<Client> clients_;
  Fd epoll_;
};

}  // namespace roombox::bench
