#include "container/web_socket.h"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "container/limits.h"
#include "container/web_socket_accept.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

class Connection : public WebSocket, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, std::shared_ptr<WebSocketHandler> handler, std::shared_ptr<void> keep)
      : stream_(std::move(socket)), handler_(std::move(handler)), keep_(std::move(keep)) {
    // A peer that is silent for half of the idle time is pinged.
    stream_.set_option(
        websocket::stream_base::timeout{limits::kHttpTransfer, 2 * limits::kWebSocketPing, true});
    stream_.read_message_max(roombox::limits::kBody);
    stream_.auto_fragment(false);
  }

  template <typename Request>
  void accept(const Request& request) {
    stream_.async_accept(request, [self = shared_from_this()](error_code ec) {
      if (ec) return self->end();
      self->open_ = true;
      self->read();
      self->say();
    });
  }

  void wake() override {
    if (open_ && !saying_) say();
  }

 private:
  void say() {
    if (!handler_) return;
    saying_ = true;
    std::visit(Overloaded{[this](std::monostate) { saying_ = false; },
                          [this](WebSocketMessage message) { send(std::move(message)); },
                          [this](const WebSocketClose& close) { this->close(close); }},
               handler_->next());
  }

  void send(WebSocketMessage message) {
    out_ = std::move(message.bytes);
    stream_.binary(message.kind == WebSocketMessage::Kind::Binary);
    stream_.async_write(asio::buffer(out_), [self = shared_from_this()](error_code ec, std::size_t) {
      if (ec) return self->end();
      self->say();
    });
  }

  void close(const WebSocketClose& close) {
    websocket::close_reason reason(close.code);
    reason.reason = beast::string_view(close.reason).substr(0, reason.reason.max_size());
    stream_.async_close(reason, [self = shared_from_this()](error_code) { self->end(); });
  }

  void read() {
    stream_.async_read(in_, [self = shared_from_this()](error_code ec, std::size_t) {
      if (ec || !self->handler_) return self->end();
      const auto kind =
          self->stream_.got_text() ? WebSocketMessage::Kind::Text : WebSocketMessage::Kind::Binary;
      WebSocketMessage message{kind, beast::buffers_to_string(self->in_.data())};
      self->in_.clear();
      if (self->in_.capacity() > limits::kReadChunk) self->in_.shrink_to_fit();
      self->handler_->on_message(std::move(message), [self] { self->read(); });
    });
  }

  /// The connection goes with the last operation on it; its handler at once.
  void end() {
    open_ = false;
    handler_.reset();
    error_code ignored;
    beast::get_lowest_layer(stream_).close(ignored);
  }

  websocket::stream<Socket, false> stream_;  // without compression
  std::shared_ptr<WebSocketHandler> handler_;
  std::shared_ptr<void> keep_;
  beast::flat_buffer in_;
  std::string out_;
  bool open_ = false;
  bool saying_ = false;
};

}  // namespace

std::shared_ptr<WebSocket> accept_web_socket(
    Socket socket, const boost::beast::http::request<boost::beast::http::string_body>& request,
    std::shared_ptr<WebSocketHandler> handler, std::shared_ptr<void> keep) {
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(handler), std::move(keep));
  connection->accept(request);
  return connection;
}

}  // namespace roombox
