#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <string>
#include <string_view>
#include <vector>

/// A client of the agent's WebSockets, that blocks; for tests and benchmarks.
namespace roombox {

/// What one attaches with.
struct AttachRequest {
  std::string after = {};
  std::string verb = "/attach";
  std::string dialect = "rooms";
};

/// A client attached to an execution.
class Attached {
 public:
  struct Message {
    std::string kind;  ///< `text`, the number of the channel, or `close`.
    std::string payload;

    /// Of a binary one, its channel too.
    std::string bytes() const { return static_cast<char>(std::stoi(kind)) + payload; }
  };

  Attached(int port, const std::string& id, const AttachRequest& request = {}) : socket_(io_) {
    auto& tcp = boost::beast::get_lowest_layer(socket_);
    tcp.connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    const timeval limit{30, 0};
    ::setsockopt(tcp.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    socket_.set_option(
        boost::beast::websocket::stream_base::decorator([&](boost::beast::websocket::request_type& head) {
          head.set("Roombox-Sandbox", "sandbox-r1");
          head.set("Roombox-Dialect", request.dialect);
          if (!request.after.empty()) head.set("Last-Event-ID", request.after);
        }));
    boost::beast::websocket::response_type response;
    boost::system::error_code refused;
    socket_.handshake(response, "sandbox", "/executions/" + id + request.verb, refused);
    status = response.result_int();
    body = response.body();
  }

  Message read() {
    boost::beast::flat_buffer buffer;
    boost::system::error_code ended;
    socket_.read(buffer, ended);
    if (ended == boost::beast::websocket::error::closed)
      return {"close", std::to_string(socket_.reason().code)};
    if (ended) return {"close", ended.message()};
    auto bytes = boost::beast::buffers_to_string(buffer.data());
    if (socket_.got_text()) return {"text", bytes};
    return bytes.empty() ? Message{"empty", ""} : Message{std::to_string(bytes[0]), bytes.substr(1)};
  }

  /// Reads until what has come of a channel has a text; all of it. Stops at the end of the socket.
  std::string read_until(std::string_view text, const std::string& kind = "1") {
    std::string all;
    while (all.find(text) == all.npos) {
      const auto message = read();
      if (message.kind == kind) all += message.payload;
      if (message.kind == "close") return all + "<closed>";
    }
    return all;
  }

  /// Everything up to the end of the socket.
  std::vector<Message> read_all() {
    std::vector<Message> all;
    do all.push_back(read());
    while (all.back().kind != "close");
    return all;
  }

  void send(const std::string& bytes) {
    socket_.binary(true);
    socket_.write(boost::asio::buffer(bytes));
  }
  void type(const std::string& text) { send(std::string(1, '\0') + text); }
  void control(const std::string& text) {
    socket_.text(true);
    socket_.write(boost::asio::buffer(text));
  }
  void drop() {
    boost::system::error_code ignored;
    boost::beast::get_lowest_layer(socket_).close(ignored);
  }

  unsigned status = 0;
  std::string body;

 private:
  boost::asio::io_context io_;
  boost::beast::websocket::stream<boost::asio::ip::tcp::socket, false> socket_;
};

}  // namespace roombox
