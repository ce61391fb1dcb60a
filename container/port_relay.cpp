#include "container/port_relay.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "container/asio.h"
#include "container/caller.h"
#include "container/limits.h"
#include "container/relayed_body.h"
#include "container/relayed_head.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/decimal.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/port.h"

namespace roombox {
namespace {

using boost::system::error_code;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kSwitching = 101;

std::optional<RelayTarget> target_of(std::string_view target) {
  const auto call = target.substr(agent_api::kPorts.size());
  const auto end = std::min(call.find_first_of("/?"), call.size());
  const auto port = parse_port(call.substr(0, end));
  if (!port) return std::nullopt;
  const auto path = call.substr(end);
  return RelayTarget{*port, path.starts_with('/') ? std::string(path) : std::string("/").append(path)};
}

milliseconds wait_of(const HttpRequest& request) {
  const auto asked = parse_decimal(request.header(agent_api::kWaitHeader)).value_or(0);
  const auto most = static_cast<std::uint64_t>(limits::kPortWait.count());
  return milliseconds(std::min(asked, most));
}

/// Memory of its own pages: what is never used of it is none, and all of it goes back to the system, which
/// the heap keeps in pieces after many connections at once.
struct Unmap {
  static constexpr std::size_t kSize = 2 * limits::kRelayed;
  void operator()(char* pages) const { ::munmap(pages, kSize); }
};
using Pages = std::unique_ptr<char, Unmap>;

Pages make_pages() {
  void* const pages =
      ::mmap(nullptr, Unmap::kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return Pages(static_cast<char*>(pages));
}

/// Bytes on their way in one direction, in room of kRelayed bytes that it borrows.
class Buffer {
 public:
  explicit Buffer(char* room) : bytes_(room) {}

  asio::mutable_buffer room() { return asio::buffer(bytes_ + size_, limits::kRelayed - size_); }
  asio::const_buffer data() const { return asio::buffer(bytes_, size_); }
  std::string_view view() const { return {bytes_, size_}; }
  bool is_full() const { return size_ == limits::kRelayed; }
  void add(std::size_t size) { size_ += size; }
  void clear() { size_ = 0; }
  void drop_front(std::size_t size) {
    size_ -= size;
    std::memmove(bytes_, bytes_ + size, size_);
  }

 private:
  char* const bytes_;
  std::size_t size_ = 0;
};

/// When a write that is under way began.
class WriteWatch {
 public:
  void begin() { began_ = Clock::now(); }
  void end() { began_.reset(); }
  bool has_stalled() const { return began_ && Clock::now() - *began_ > limits::kHttpStall; }

 private:
  std::optional<Clock::time_point> began_;
};

/// One request on its way. What it waits for keeps it; it keeps the exchange, whose connection it uses.
class Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(std::shared_ptr<Exchange> exchange, const Handover& from, const RelayTarget& target)
      : exchange_(std::move(exchange)),
        client_(from.socket),
        server_(client_.get_executor()),
        timer_(client_.get_executor()),
        port_(target.port),
        dialect_(caller_of(exchange_->request()).dialect),
        wait_until_(Clock::now() + wait_of(exchange_->request())),
        protocol_(protocol_of(from.headers)),
        body_(from.body_size) {
    head_ = relayed_request(exchange_->request().method, target, from, protocol_);
    head_.append(from.received, 0, body_->take(from.received));
  }

  void start() {
    read_client();
    connect();
  }

 private:
  enum class Family { V4, V6 };

  void connect(Family family = Family::V4);
  void on_unconnected();
  void on_connected();
  void read_client();
  void on_client(std::size_t size);
  void pass_to_server();
  void read_server();
  void on_server(std::size_t size);
  void on_server_end(error_code ec);
  void read_answer();
  void answer(const ResponseHead& head, std::size_t size);
  void pass_to_client();
  void watch_writes();
  void refuse(std::string_view message);
  void finish();
  void cut();
  void end();

  /// A handler that keeps this, and is not called any more when all is over.
  template <typename Handle>
  auto until_over(Handle handle) {
    return [self = shared_from_this(), handle](error_code ec, auto... size) {
      if (!self->is_over_) handle(ec, size...);
    };
  }

  const std::shared_ptr<Exchange> exchange_;
  Socket& client_;
  Socket server_;
  Timer timer_;  ///< Of the next try to connect, then of the next look at the writes.
  const unsigned short port_;
  const Dialect dialect_;
  const Clock::time_point wait_until_;
  milliseconds retry_ = limits::kListenerRetryMin;
  const Protocol protocol_;          ///< What the client asks for.
  std::optional<RelayedBody> body_;  ///< The request's; none once all is the server's, as of a WebSocket.
  std::string head_;                 ///< That is being written, to either side.
  const Pages room_ = make_pages();  ///< For both directions.
  Buffer from_client_{room_.get()}, from_server_{room_.get() + limits::kRelayed};
  WriteWatch server_write_, client_write_;
  bool is_open_ = false;      ///< The server has the request's head.
  bool is_answered_ = false;  ///< The server has given the response's.
  bool is_framed_ = false;    ///< The response's body tells its own end.
  bool is_over_ = false;
};

// To the server.

void Relay::connect(Family family) {
  error_code ignored;
  server_.close(ignored);  // of the other family
  const auto address = family == Family::V4 ? asio::ip::address(asio::ip::address_v4::loopback())
                                            : asio::ip::address(asio::ip::address_v6::loopback());
  server_.async_connect({address, port_}, until_over([this, family](error_code ec) {
                          if (!ec) return on_connected();
                          family == Family::V4 ? connect(Family::V6) : on_unconnected();
                        }));
}

void Relay::on_unconnected() {
  const auto left = std::chrono::ceil<milliseconds>(wait_until_ - Clock::now());
  error_code ignored;
  server_.close(ignored);
  if (left <= milliseconds::zero()) return refuse(messages::kNothingListens);
  timer_.expires_after(std::min(retry_, left));
  timer_.async_wait(until_over([this](error_code) { connect(); }));
  retry_ = std::min(2 * retry_, limits::kListenerRetryMax);
}

void Relay::on_connected() {
  error_code ignored;
  // A port that nobody listens on may be the one that the kernel gives our own end: then it is connected to
  // itself.
  if (server_.local_endpoint(ignored) == server_.remote_endpoint(ignored)) return on_unconnected();
  server_.set_option(tcp::no_delay(true), ignored);
  watch_writes();
  server_write_.begin();
  asio::async_write(server_, asio::buffer(head_), until_over([this](error_code, std::size_t) {
                      // A server that does not want all of it may have answered all the same.
                      server_write_.end();
                      head_.clear();
                      is_open_ = true;
                      if (!from_client_.view().empty()) pass_to_server();
                      read_server();
                    }));
}

/// Reads all that comes, so that the client is seen to leave; but no more than one piece ahead.
void Relay::read_client() {
  client_.async_read_some(from_client_.room(), until_over([this](error_code ec, std::size_t size) {
                            if (ec) return cut();
                            on_client(size);
                          }));
}

void Relay::on_client(std::size_t size) {
  from_client_.add(body_ ? body_->take({from_client_.view().data(), size}) : size);
  if (from_client_.view().empty()) return read_client();
  if (is_open_) pass_to_server();
}

void Relay::pass_to_server() {
  server_write_.begin();
  asio::async_write(server_, from_client_.data(), until_over([this](error_code ec, std::size_t) {
                      server_write_.end();
                      from_client_.clear();
                      if (ec) body_.emplace(0);  // it takes no more, and may still say why
                      read_client();
                    }));
}

// To the client.

void Relay::read_server() {
  server_.async_read_some(from_server_.room(), until_over([this](error_code ec, std::size_t size) {
                            if (ec) return on_server_end(ec);
                            on_server(size);
                          }));
}

void Relay::on_server(std::size_t size) {
  from_server_.add(size);
  is_answered_ ? pass_to_client() : read_answer();
}

void Relay::on_server_end(error_code ec) {
  if (!is_answered_) return refuse(messages::kServerLeft);
  if (ec != asio::error::eof && !is_framed_) {
    // Nothing else would tell the client that this is not the end of the body.
    error_code ignored;
    client_.set_option(tcp::socket::linger(true, 0), ignored);
    return cut();
  }
  finish();
}

/// Looks for the response's head in what has come, after any that only announce it.
void Relay::read_answer() {
  auto rest = from_server_.view();
  while (const auto size = response_head_size(rest)) {
    const auto head = parse_response_head(rest.substr(0, size));
    if (!head) return refuse(messages::kServerNotHttp);
    if (head->status >= 200 || head->status == kSwitching)
      return answer(*head, from_server_.view().size() - rest.size() + size);
    rest.remove_prefix(size);
  }
  from_server_.drop_front(from_server_.view().size() - rest.size());
  if (from_server_.is_full()) return refuse(messages::kServerNotHttp);
  read_server();
}

/// @param size of what has come up to the end of the head
void Relay::answer(const ResponseHead& head, std::size_t size) {
  const auto protocol = head.status == kSwitching ? Protocol::WebSocket : Protocol::Http;
  if (protocol == Protocol::WebSocket) {
    if (protocol_ != Protocol::WebSocket) return refuse(messages::kServerNotHttp);
    body_.reset();  // what came before was dropped: a client says nothing until now (RFC 6455, 4.1)
  }
  is_answered_ = true;
  is_framed_ = has_framed_body(head);
  head_ = relayed_response(head, protocol);
  from_server_.drop_front(size);
  pass_to_client();
}

void Relay::pass_to_client() {
  client_write_.begin();
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(head_), from_server_.data()};
  asio::async_write(client_, bytes, until_over([this](error_code ec, std::size_t) {
                      if (ec) return cut();
                      client_write_.end();
                      head_.clear();
                      from_server_.clear();
                      read_server();
                    }));
}

// The end.

/// Who takes nothing of what is written to it counts as gone.
void Relay::watch_writes() {
  timer_.expires_after(limits::kHttpStall);
  timer_.async_wait(until_over([this](error_code) {
    if (server_write_.has_stalled() || client_write_.has_stalled()) return cut();
    watch_writes();
  }));
}

void Relay::refuse(std::string_view message) {
  end();
  const auto text = messages::fill(message, {std::to_string(port_)});
  exchange_->respond(to_response(error(ErrorCode::BadGateway, text), dialect_));
}

void Relay::finish() {
  end();
  exchange_->hang_up();
}

void Relay::cut() {
  end();
  error_code ignored;
  client_.close(ignored);
}

/// What is under way is called off; its handlers let go of this.
void Relay::end() {
  is_over_ = true;
  timer_.cancel();
  error_code ignored;
  server_.close(ignored);
  client_.cancel(ignored);
}

}  // namespace

bool is_port_call(const HttpRequest& request) {
  return request.target.starts_with(agent_api::kPorts);
}

void relay_to_port(std::shared_ptr<Exchange> exchange) {
  const auto target = target_of(exchange->request().target);
  if (!target) return refuse(*exchange, no_port());
  const Handover from = exchange->hand_over();
  error_code unconnected;
  if (from.socket.local_endpoint(unconnected).port() == target->port) return refuse(*exchange, no_port());
  std::make_shared<Relay>(exchange, from, *target)->start();
}

}  // namespace roombox
