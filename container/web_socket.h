#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

namespace roombox {

struct WebSocketMessage {
  enum class Kind { Binary, Text } kind;
  std::string bytes;
};

/// The end of a WebSocket as we tell it: a code of RFC 6455, 7.4, and at most 123 bytes of reason.
struct WebSocketClose {
  std::uint16_t code;
  std::string reason;
};

/// What speaks on our side of a WebSocket. Kept by it until its end.
class WebSocketHandler {
 public:
  virtual ~WebSocketHandler() = default;

  /// What is to be said next; std::monostate where there is nothing yet: WebSocket::wake tells when. Called
  /// when all that was said before has been taken by the connection, so a handler is never ahead of its peer.
  using Say = std::variant<std::monostate, WebSocketMessage, WebSocketClose>;
  virtual Say next() = 0;

  /// A message came. The next one is read once `done` was called, so a peer is never ahead of its handler.
  /// Meanwhile `done` is what keeps the connection.
  virtual void on_message(WebSocketMessage message, std::function<void()> done) = 0;
};

/// The server's side of one WebSocket (RFC 6455). Pings a silent peer, and ends with one that does not
/// answer.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  /// Asks the handler again that had nothing to say. Does nothing at any other time.
  virtual void wake() = 0;
};

}  // namespace roombox
