#include "container/http_server.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "container/limits.h"
#include "container/log.h"
#include "container/web_socket_accept.h"
#include "wasm/protocol/limits.h"

// With web_socket.cpp the only translation unit that includes Beast.

namespace roombox {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

/// A connection that is not done by its deadline is closed; deadlines are coarse, so one timer checks all of
/// them.
constexpr std::chrono::seconds kDeadlineCheck = std::chrono::seconds(5);
/// Out of descriptors: the next try to accept.
constexpr std::chrono::milliseconds kAcceptRetry = std::chrono::milliseconds(50);
/// Bytes of a next request taken while the last one is being answered.
constexpr std::size_t kReadAhead = 4096;

class Session;

}  // namespace

class HttpListener : public std::enable_shared_from_this<HttpListener> {
 public:
  HttpListener(asio::io_context& io, const tcp::endpoint& endpoint, HttpServer::Gate on_head,
               HttpServer::Handler on_request, HttpServer::Refusal on_refusal)
      : gate(std::move(on_head)),
        handler(std::move(on_request)),
        refusal(std::move(on_refusal)),
        acceptor_(io),
        check_(io),
        retry_(io) {
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen(asio::socket_base::max_listen_connections);
  }

  void start() {
    accept();
    check_deadlines();
  }
  void stop();
  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  void forget(Session* session);

  /// Counts a request that is being answered.
  void count(unsigned status) { ++counters_.answered[std::min<std::size_t>(status / 100, 5)]; }
  void count_relayed() { ++counters_.relayed; }
  const HttpCounters& counters() {
    counters_.connections = sessions_.size();
    return counters_;
  }

  const HttpServer::Gate gate;
  const HttpServer::Handler handler;
  const HttpServer::Refusal refusal;

 private:
  void accept();
  void make_room();
  void check_deadlines();

  Acceptor acceptor_;
  Timer check_;
  Timer retry_;
  std::unordered_set<Session*> sessions_;
  HttpCounters counters_;
  bool full_ = false;
};

namespace {

/// One connection: reads a request, hands it on, writes the response, and again.
class Session : public Exchange, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<HttpListener> server, Socket socket)
      : server_(std::move(server)), socket_(std::move(socket)) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }
  ~Session() override { server_->forget(this); }

  void start() { read_request(); }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }
  bool is_overdue(Clock::time_point now) const { return now > deadline_; }

  /// Gives back what a stream that now has nothing to send took for more.
  void trim() {
    if (!pumping_ && out_.empty()) out_.shrink_to_fit();
  }

  /// Whether its caller has made itself known; and if not, the more worth keeping the later its deadline.
  bool is_known() const { return known_; }
  Clock::time_point deadline() const { return deadline_; }

  const HttpRequest& request() const override { return request_; }
  const HttpCounters& counters() const override { return server_->counters(); }
  void on_abandoned(std::function<void()> callback) override { abandoned_ = std::move(callback); }
  void respond(HttpResponse response) override;
  void stream(HttpResponse head, std::shared_ptr<BodySource> source,
              std::optional<std::uint64_t> size) override;
  void receive(std::shared_ptr<BodySink> sink) override;
  void receive_more() override;
  std::weak_ptr<WebSocket> upgrade(std::shared_ptr<WebSocketHandler> handler) override;
  Handover hand_over() override;
  void hang_up() override { on_responded({}, false); }
  void wake() override;

 private:
  void read_request();
  void on_head();
  void read_body();
  void on_request();
  template <typename Message>
  void note(const Message& message);
  bool has_unread_body() const;
  template <typename Read>
  void when_continued(Read read);
  void read_piece();
  void on_piece(error_code ec);
  void read_ahead();
  void on_read_ahead(error_code ec, std::size_t size);
  void on_responded(error_code ec, bool keep_alive);
  void pump();
  void fill();
  void on_pumped(error_code ec);
  void abandon();
  void linger();
  void discard();
  void refuse(error_code ec);

  std::shared_ptr<HttpListener> server_;
  Socket socket_;
  Clock::time_point deadline_{};
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::request_parser<http::buffer_body>> piecewise_;  ///< In its place, of a streamed body.
  std::shared_ptr<BodySink> sink_;                                    ///< Of the body that is being received.
  std::string piece_;                                                 ///< Room for what the sink is given.
  std::optional<http::response<http::string_body>> response_;
  std::shared_ptr<BodySource> source_;             ///< Of the body that is being streamed.
  BodySource::Next next_ = BodySource::Next::Now;  ///< What the source said last.
  bool pumping_ = false;  ///< The source is being asked, or its bytes are being written.
  bool woken_ = false;
  bool chunked_ = false;
  unsigned version_ = 11;
  bool is_head_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  std::string out_;
  HttpRequest request_;
  std::function<void()> abandoned_;
  std::shared_ptr<const void> mark_;  ///< The gate's, of this request.
  bool answering_ = false;            ///< A request is being handled or its response written.
  bool reading_ahead_ = false;
  bool closing_ = false;  ///< Answered for the last time; what comes is thrown away.
  bool known_ = false;
};

void Session::read_request() {
  deadline_ = Clock::now() + (buffer_.size() == 0 ? limits::kHttpIdle : limits::kHttpTransfer);
  parser_.emplace();
  parser_->header_limit(limits::kHttpHeader);
  parser_->body_limit(boost::none);  // the gate tells whether it has one
  http::async_read_header(socket_, buffer_, *parser_,
                          [self = shared_from_this()](error_code ec, std::size_t) {
                            if (ec) return self->refuse(ec);
                            self->on_head();
                          });
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Keeps what is needed of a request's head, whichever parser has it.
template <typename Message>
void Session::note(const Message& message) {
  version_ = message.version();
  is_head_ = message.method() == http::verb::head;
  expects_continue_ = beast::iequals(message[http::field::expect], "100-continue");
  // workerd fails on the next response of a connection that has answered to HEAD.
  keep_alive_ = message.keep_alive() && !is_head_;
  request_ = {view(message.method_string()), view(message.target()), {}, [&message](auto name) {
                return view(message[{name.data(), name.size()}]);
              }};
}

void Session::on_head() {
  deadline_ = Clock::now() + limits::kHttpTransfer;
  // Nobody could tell where its body ends (RFC 9112, 6.3), and Beast takes it for one without.
  const bool is_coded = parser_->get().count(http::field::transfer_encoding) > 0;
  if (is_coded && !parser_->chunked()) return refuse(http::error::bad_transfer_encoding);
  note(parser_->get());
  auto verdict = server_->gate(request_);
  if (verdict.refusal) {
    answering_ = true;
    if (!parser_->is_done()) keep_alive_ = false;  // its body is not read
    return respond(*std::move(verdict.refusal));
  }
  known_ |= verdict.caller == HttpServer::Verdict::Caller::Known;
  mark_ = std::move(verdict.mark);
  if (verdict.body == HttpServer::Verdict::Body::Relayed) {
    if (!parser_->is_done()) keep_alive_ = false;  // its body is not read, if it is refused
    deadline_ = Clock::time_point::max();
    answering_ = true;
    return server_->handler(shared_from_this());
  }
  if (parser_->is_done()) return on_request();
  if (verdict.body == HttpServer::Verdict::Body::Stream) {
    piecewise_.emplace(std::move(*parser_));
    note(piecewise_->get());
    deadline_ = Clock::time_point::max();
    answering_ = true;
    return server_->handler(shared_from_this());
  }
  if (parser_->content_length().value_or(0) > limits::kBody) return refuse(http::error::body_limit);
  parser_->body_limit(limits::kBody);
  when_continued([this] { read_body(); });
}

/// Reads on, once a client that waits to be asked for its body has been asked.
template <typename Read>
void Session::when_continued(Read read) {
  if (!std::exchange(expects_continue_, false)) return read();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(kContinue),
                    [self = shared_from_this(), read](error_code ec, std::size_t) {
                      if (!ec) return read();
                      if (auto sink = std::exchange(self->sink_, nullptr)) sink->cut();
                    });
}

void Session::read_body() {
  http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (ec) return self->refuse(ec);
    self->on_request();
  });
}

/// Answers what is no request, if there is somebody to answer, and closes.
void Session::refuse(error_code ec) {
  unsigned status = 400;
  if (ec == http::error::body_limit) status = 413;
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) status = 431;
  // Other errors than the parser's are the connection's end.
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) return;
  if (ec.category() != error_code(http::error::bad_version).category()) return;
  answering_ = true;
  keep_alive_ = false;
  respond(server_->refusal(status));
}

void Session::on_request() {
  deadline_ = Clock::time_point::max();  // the handler's time is its own
  answering_ = true;
  request_.body = parser_->get().body();
  if (!beast::websocket::is_upgrade(parser_->get())) read_ahead();  // its client has no more to say yet
  server_->handler(shared_from_this());
}

void Session::receive(std::shared_ptr<BodySink> sink) {
  if (!piecewise_) return sink->end();
  sink_ = std::move(sink);
  piece_.resize(limits::kReceivedPiece);
  when_continued([this] { read_piece(); });
}

void Session::receive_more() {
  if (!sink_) return;
  if (has_unread_body()) return read_piece();
  std::exchange(sink_, nullptr)->end();
}

bool Session::has_unread_body() const {
  return piecewise_ && !piecewise_->is_done();
}

void Session::read_piece() {
  deadline_ = Clock::now() + limits::kHttpStall;
  auto& body = piecewise_->get().body();
  body.data = piece_.data();
  body.size = piece_.size();
  http::async_read(socket_, buffer_, *piecewise_,
                   [self = shared_from_this()](error_code ec, std::size_t) { self->on_piece(ec); });
}

void Session::on_piece(error_code ec) {
  deadline_ = Clock::time_point::max();
  if (ec == http::error::need_buffer) ec = {};  // the piece is full
  if (ec) {
    if (auto sink = std::exchange(sink_, nullptr)) sink->cut();
    return refuse(ec);
  }
  const std::size_t size = piece_.size() - piecewise_->get().body().size;
  if (size == 0) return receive_more();
  const auto sink = sink_;  // an answer lets go of it
  sink->take(std::string_view(piece_).substr(0, size));
}

/// Reads on while the request is being handled: so its client is seen to leave. What arrives is the next
/// request's.
void Session::read_ahead() {
  if (reading_ahead_ || buffer_.size() >= kReadAhead) return;
  reading_ahead_ = true;
  socket_.async_read_some(
      buffer_.prepare(kReadAhead),
      [self = shared_from_this()](error_code ec, std::size_t size) { self->on_read_ahead(ec, size); });
}

void Session::on_read_ahead(error_code ec, std::size_t size) {
  reading_ahead_ = false;
  buffer_.commit(size);
  const bool called_off = ec == asio::error::operation_aborted && socket_.is_open();
  if (ec && !called_off) {
    abandon();
  } else if (closing_) {
    discard();
  } else if (answering_) {
    read_ahead();
  } else {
    read_request();
  }
}

void Session::abandon() {
  close();
  source_.reset();
  if (auto abandoned = std::exchange(abandoned_, nullptr)) abandoned();
}

void Session::respond(HttpResponse answer) {
  abandoned_ = nullptr;
  if (!socket_.is_open()) return;
  deadline_ = Clock::now() + limits::kHttpTransfer;
  if (has_unread_body()) keep_alive_ = false;
  server_->count(answer.status);
  response_.emplace(static_cast<http::status>(answer.status), version_);
  for (const auto& [name, value] : answer.headers) response_->set(name, value);
  const auto status = response_->result();
  if (status == http::status::no_content || status == http::status::not_modified) {
    // Not even a length of 0 may be told (RFC 9110, 8.6); and workerd does not use the connection again.
    response_->keep_alive(false);
  } else {
    response_->keep_alive(keep_alive_);
    response_->set(http::field::content_type, answer.content_type);
    response_->body() = std::move(answer.body);
    response_->prepare_payload();
  }
  if (is_head_) response_->body().clear();  // its length stays announced
  http::async_write(socket_, *response_, [self = shared_from_this()](error_code ec, std::size_t) {
    self->on_responded(ec, self->response_->keep_alive());
  });
}

void Session::on_responded(error_code ec, bool keep_alive) {
  mark_.reset();
  response_.reset();
  parser_.reset();  // a body is not kept while the connection idles
  piecewise_.reset();
  sink_.reset();
  std::string().swap(piece_);  // what is assigned would keep the room
  answering_ = false;
  if (ec) return close();
  if (!keep_alive) return linger();
  if (!reading_ahead_) return read_request();
  // A read is under way. It ends with the next request's first bytes, or now if they are already here.
  deadline_ = Clock::now() + limits::kHttpIdle;
  error_code ignored;
  if (buffer_.size() > 0) socket_.cancel(ignored);
}

/// The body of an answer that has none.
class NoBody : public BodySource {
 public:
  Next fill(std::string&) override { return Next::End; }
};

void Session::stream(HttpResponse head, std::shared_ptr<BodySource> source,
                     std::optional<std::uint64_t> size) {
  if (!socket_.is_open()) return;
  server_->count(head.status);
  const bool in_chunks = !size && version_ >= 11;
  chunked_ = in_chunks && !is_head_;
  // Without chunks or a length the end of the connection is the body's.
  keep_alive_ = keep_alive_ && (in_chunks || size) && !has_unread_body();
  const auto reason = http::obsolete_reason(static_cast<http::status>(head.status));
  out_ = "HTTP/1.1 " + std::to_string(head.status) + " " + std::string(reason) +
         "\r\nContent-Type: " + head.content_type + "\r\n";
  for (const auto& [name, value] : head.headers) out_ += name + ": " + value + "\r\n";
  if (in_chunks) out_ += "Transfer-Encoding: chunked\r\n";
  if (size) out_ += "Content-Length: " + std::to_string(*size) + "\r\n";
  if (!keep_alive_) out_ += "Connection: close\r\n";
  out_ += "\r\n";
  request_ = {};
  source_ = is_head_ ? std::make_shared<NoBody>() : std::move(source);
  pump();
}

/// The connection is the WebSocket's from now on; this is kept by it, so that it counts.
std::weak_ptr<WebSocket> Session::upgrade(std::shared_ptr<WebSocketHandler> handler) {
  const auto& message = parser_->get();
  if (!beast::websocket::is_upgrade(message)) {
    respond(server_->refusal(static_cast<unsigned>(http::status::bad_request)));
    return {};
  }
  abandoned_ = nullptr;
  server_->count(static_cast<unsigned>(http::status::switching_protocols));
  return accept_web_socket(std::move(socket_), message, std::move(handler), shared_from_this());
}

Handover Session::hand_over() {
  server_->count_relayed();
  keep_alive_ = false;
  HttpHeaders headers;
  for (const auto& field : parser_->get())
    headers.emplace_back(view(field.name_string()), view(field.value()));
  const auto data = buffer_.data();
  std::string received(static_cast<const char*>(data.data()), data.size());
  buffer_.clear();
  std::optional<std::uint64_t> size;
  if (!parser_->chunked()) size = parser_->content_length().value_or(0);
  return {socket_, version_, std::move(headers), size, std::move(received)};
}

void Session::wake() {
  woken_ = true;
  if (source_ && !pumping_) pump();
}

/// As asio::transfer_all, which has each write take no more than 64 KiB.
std::size_t transfer_whole(const error_code& ec, std::size_t) {
  return ec ? 0 : std::numeric_limits<std::size_t>::max();
}

/// Asks the source, and writes what it gives.
void Session::pump() {
  pumping_ = true;
  fill();
  if (next_ == BodySource::Next::Break) return abandon();
  if (out_.empty() && next_ != BodySource::Next::End) {  // an end without bytes goes on to the next request
    pumping_ = false;
    return;
  }
  deadline_ = Clock::now() + limits::kHttpStall;
  asio::async_write(socket_, asio::buffer(out_), transfer_whole,
                    [self = shared_from_this()](error_code ec, std::size_t) { self->on_pumped(ec); });
}

/// Has the source append to `out_`, as a chunk of the chunked coding (RFC 9112, 7.1): its size, in digits of
/// a fixed number so that it can be written afterwards, goes before.
void Session::fill() {
  static constexpr std::string_view kSize = "00000000\r\n", kLast = "0\r\n\r\n";
  const std::size_t at = out_.size();
  if (chunked_) out_ += kSize;
  do {
    woken_ = false;
    next_ = source_->fill(out_);
  } while (next_ == BodySource::Next::Later && woken_);
  if (!chunked_) return;
  const std::size_t size = out_.size() - at - kSize.size();
  if (size == 0) {
    out_.resize(at);
  } else {
    std::array<char, 8> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
    std::copy_backward(digits.data(), end, out_.data() + at + digits.size());
    out_ += "\r\n";
  }
  if (next_ == BodySource::Next::End) out_ += kLast;
}

void Session::on_pumped(error_code ec) {
  pumping_ = false;
  out_.clear();
  if (!source_) return;  // the client has left
  if (ec) return abandon();
  deadline_ = Clock::time_point::max();
  if (next_ == BodySource::Next::End) {
    abandoned_ = nullptr;
    source_.reset();
    out_.shrink_to_fit();
    return on_responded({}, keep_alive_);
  }
  if (next_ == BodySource::Next::Now || woken_) pump();
}

/// Closes once the client has: before that, what it still sends would have the kernel reset the connection
/// and the client lose the response (RFC 9112, 9.6).
void Session::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  deadline_ = Clock::now() + limits::kHttpLinger;
  closing_ = true;
  if (!reading_ahead_) discard();
}

void Session::discard() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(limits::kReadChunk),
                          [self = shared_from_this()](error_code ec, std::size_t) {
                            if (!ec) self->discard();
                          });
}

}  // namespace

void HttpListener::accept() {
  if (sessions_.size() >= limits::kConnections) {
    full_ = true;  // goes on when one of them has gone
    return make_room();
  }
  acceptor_.async_accept([self = shared_from_this()](error_code ec, Socket socket) {
    if (ec == asio::error::operation_aborted) return;
    if (ec) {
      log::warn("cannot accept a connection: " + ec.message());
      self->retry_.expires_after(kAcceptRetry);
      return self->retry_.async_wait([self](error_code cancelled) {
        if (!cancelled) self->accept();
      });
    }
    auto session = std::make_shared<Session>(self, std::move(socket));
    self->sessions_.insert(session.get());
    session->start();
    self->accept();
  });
}

/// Closes the connection that has least to say for itself: the sandbox's own processes can open as many as
/// they like, and must not keep the object out.
void HttpListener::make_room() {
  Session* least = nullptr;
  for (Session* session : sessions_) {
    if (!session->is_known() && (!least || session->deadline() < least->deadline())) least = session;
  }
  if (least) least->close();
}

void HttpListener::forget(Session* session) {
  sessions_.erase(session);
  if (std::exchange(full_, false)) accept();
}

void HttpListener::check_deadlines() {
  check_.expires_after(kDeadlineCheck);
  check_.async_wait([self = shared_from_this()](error_code cancelled) {
    if (cancelled) return;
    const auto now = Clock::now();
    for (Session* session : self->sessions_) {
      session->is_overdue(now) ? session->close() : session->trim();
    }
    self->check_deadlines();
  });
}

void HttpListener::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  check_.cancel();
  retry_.cancel();
  for (Session* session : sessions_) session->close();
}

HttpServer::HttpServer(asio::io_context& io, const std::string& address, unsigned short port, Gate gate,
                       Handler handler, Refusal refusal)
    : listener_(std::make_shared<HttpListener>(io, tcp::endpoint(asio::ip::make_address(address), port),
                                               std::move(gate), std::move(handler), std::move(refusal))) {
  listener_->start();
}

HttpServer::~HttpServer() {
  listener_->stop();
}

unsigned short HttpServer::port() const {
  return listener_->port();
}

}  // namespace roombox
