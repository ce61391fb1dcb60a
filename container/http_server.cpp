#include "container/http_server.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <unordered_set>

#include "container/limits.h"
#include "container/log.h"
#include "wasm/protocol/limits.h"

// The one translation unit that includes Beast.

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
  HttpListener(asio::io_context& io, const tcp::endpoint& endpoint, HttpServer::Handler on_request,
               HttpServer::Refusal on_refusal)
      : handler(std::move(on_request)),
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

  const HttpServer::Handler handler;
  const HttpServer::Refusal refusal;

 private:
  void accept();
  void check_deadlines();

  tcp::acceptor acceptor_;
  asio::steady_timer check_;
  asio::steady_timer retry_;
  std::unordered_set<Session*> sessions_;
  bool full_ = false;
};

namespace {

/// One connection: reads a request, hands it on, writes the response, and again.
class Session : public Exchange, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<HttpListener> server, tcp::socket socket)
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

  const HttpRequest& request() const override { return request_; }
  void on_abandoned(std::function<void()> callback) override { abandoned_ = std::move(callback); }
  void respond(HttpResponse response) override;

 private:
  void read_request();
  void on_request();
  void read_ahead();
  void on_read_ahead(error_code ec, std::size_t size);
  void on_responded(error_code ec);
  void linger();
  void discard();
  void refuse(error_code ec);

  std::shared_ptr<HttpListener> server_;
  tcp::socket socket_;
  Clock::time_point deadline_{};
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  HttpRequest request_;
  std::function<void()> abandoned_;
  bool answering_ = false;  ///< A request is being handled or its response written.
  bool reading_ahead_ = false;
  bool closing_ = false;  ///< Answered for the last time; what comes is thrown away.
};

void Session::read_request() {
  deadline_ = Clock::now() + (buffer_.size() == 0 ? limits::kHttpIdle : limits::kHttpTransfer);
  parser_.emplace();
  parser_->header_limit(limits::kHttpHeader);
  parser_->body_limit(limits::kBody);
  http::async_read_header(socket_, buffer_, *parser_,
                          [self = shared_from_this()](error_code ec, std::size_t) {
                            if (ec) return self->refuse(ec);
                            self->deadline_ = Clock::now() + limits::kHttpTransfer;
                            if (self->parser_->is_done()) return self->on_request();
                            http::async_read(self->socket_, self->buffer_, *self->parser_,
                                             [self](error_code body_ec, std::size_t) {
                                               if (body_ec) return self->refuse(body_ec);
                                               self->on_request();
                                             });
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
  parser_->get().keep_alive(false);
  respond(server_->refusal(status));
}

void Session::on_request() {
  deadline_ = Clock::time_point::max();  // the handler's time is its own
  answering_ = true;
  const auto& message = parser_->get();
  const auto view = [](auto text) { return std::string_view(text.data(), text.size()); };
  request_ = {view(message.method_string()), view(message.target()), message.body(),
              [&message, view](std::string_view name) {
                return view(message[{name.data(), name.size()}]);
              }};
  read_ahead();
  server_->handler(shared_from_this());
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
    close();
    if (auto abandoned = std::exchange(abandoned_, nullptr)) abandoned();
  } else if (closing_) {
    discard();
  } else if (answering_) {
    read_ahead();
  } else {
    read_request();
  }
}

void Session::respond(HttpResponse answer) {
  abandoned_ = nullptr;
  if (!socket_.is_open()) return;
  deadline_ = Clock::now() + limits::kHttpTransfer;
  const auto& message = parser_->get();
  response_.emplace(static_cast<http::status>(answer.status), message.version());
  response_->set(http::field::content_type, answer.content_type);
  response_->keep_alive(message.keep_alive());
  response_->body() = std::move(answer.body);
  response_->prepare_payload();
  if (message.method() == http::verb::head) response_->body().clear();  // its length stays announced
  http::async_write(socket_, *response_,
                    [self = shared_from_this()](error_code ec, std::size_t) { self->on_responded(ec); });
}

void Session::on_responded(error_code ec) {
  const bool go_on = !ec && response_->keep_alive();
  response_.reset();
  parser_.reset();  // a body is not kept while the connection idles
  answering_ = false;
  if (ec) return close();
  if (!go_on) return linger();
  if (!reading_ahead_) return read_request();
  // A read is under way. It ends with the next request's first bytes, or now if they are already here.
  deadline_ = Clock::now() + limits::kHttpIdle;
  error_code ignored;
  if (buffer_.size() > 0) socket_.cancel(ignored);
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
    return;
  }
  acceptor_.async_accept([self = shared_from_this()](error_code ec, tcp::socket socket) {
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
      if (session->is_overdue(now)) session->close();
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

HttpServer::HttpServer(asio::io_context& io, const std::string& address, unsigned short port, Handler handler,
                       Refusal refusal)
    : listener_(std::make_shared<HttpListener>(io, tcp::endpoint(asio::ip::make_address(address), port),
                                               std::move(handler), std::move(refusal))) {
  listener_->start();
}

HttpServer::~HttpServer() {
  listener_->stop();
}

unsigned short HttpServer::port() const {
  return listener_->port();
}

}  // namespace roombox
