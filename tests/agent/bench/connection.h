#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// A request with a JSON body. @param headers whole lines, each with its end
std::string post(std::string_view target, std::string_view body, std::string_view headers = {});
std::string get(std::string_view target, std::string_view headers = {});

/// 127.0.0.1
sockaddr_in loopback(std::uint16_t port);

/// Connects to a port of 127.0.0.1.
/// @param receive_buffer SO_RCVBUF; 0 for the system's own
Fd connect_to(std::uint16_t port, int receive_buffer = 0);

void send_all(int socket, std::string_view bytes);

/// An HTTP/1.1 connection that blocks: one request, its response, and the next.
class Connection {
 public:
  explicit Connection(std::uint16_t port, int receive_buffer = 0)
      : socket_(connect_to(port, receive_buffer)) {}

  struct Response {
    int status;
    std::string head;
    std::string body;
    /// Empty where it is absent.
    std::string_view header(std::string_view name) const;
  };

  void send(std::string_view request) { send_all(socket_.get(), request); }

  /// A response without its body.
  Response receive_head();

  /// Bytes of its body as they arrive, `most` or fewer, valid until the next call; none at its end.
  std::string_view receive_body(std::size_t most = 64u << 10);

  Response exchange(std::string_view request);

  /// Wakes a thread that receives: for it the connection has ended.
  void shut_down();

 private:
  enum class Framing { Length, Chunks, Close };

  bool receive(std::size_t most);
  std::string_view line();

  Fd socket_;
  std::string buffer_;
  std::size_t at_ = 0;  ///< What lies before it in the buffer has been used.
  Framing framing_ = Framing::Length;
  std::uint64_t left_ = 0;  ///< Bytes to come of the body, or of its chunk.
  bool in_chunk_ = false;
};

}  // namespace roombox::bench
