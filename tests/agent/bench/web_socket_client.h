#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// A client of WebSockets that costs as little as one can, since it shares the processors with what it
/// measures: its messages are masked with zeros, and what it gets is not copied. Messages of several frames,
/// which no server sends here, are taken for several messages.
class WebSocketClient {
 public:
  enum class Kind { Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };

  struct Message {
    Kind kind;
    std::string_view payload;  ///< Valid until the next call.
  };

  /// @param headers whole lines, each with its end
  WebSocketClient(std::uint16_t port, const std::string& target, const std::string& headers);

  void send(Kind kind, std::string_view payload);

  /// The next message; throws where none comes for seconds, and where the connection ends.
  Message read();

  /// The next message of those that have been received, if one is whole.
  std::optional<Message> take();

  /// Receives what has come, or waits for it.
  void receive();

  int socket() const { return socket_.get(); }

 private:
  Fd socket_;
  std::string buffer_;
  std::size_t at_ = 0, end_ = 0;  ///< What is there in the buffer and has not been taken.
};

}  // namespace roombox::bench
