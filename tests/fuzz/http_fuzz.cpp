// The first byte says at what places the others are cut, the second how: they are written to a connection of
// the real server, whose requests are answered in each of the ways that there are, by the path. Whatever they
// are, what comes back is so many whole answers, each after its request and to no other, and the server
// serves who comes next.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/caller.h"
#include "container/http_server.h"
#include "container/log.h"
#include "container/port_relay.h"
#include "container/sys/fd.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/attach.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/kill_request.h"
#include "wasm/protocol/terminal.h"

/// The fuzzer's output is its own.
namespace roombox::log {
void info(const std::string&) {}
void warn(const std::string&) {}
void error(const std::string&) {}
}  // namespace roombox::log

namespace {

using namespace roombox;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Events that one piece may cause. The server answers each with a few of them.
constexpr int kEvents = 200'000;
/// How long a machine that does something else may keep us from an event.
constexpr auto kPatience = 4s;

/// A body in pieces, with a break in it.
class Pieces : public BodySource {
 public:
  explicit Pieces(bool breaks) : breaks_(breaks) {}
  Next fill(std::string& out) override {
    out.append(100, 'x');
    if (++filled_ < 3) return Next::Now;
    return breaks_ ? Next::Break : Next::End;
  }

 private:
  const bool breaks_;
  int filled_ = 0;
};

/// Takes a body and answers with its size.
class Sink : public BodySink {
 public:
  explicit Sink(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  void take(std::string_view bytes) override {
    require(!bytes.empty() && !over_);
    size_ += bytes.size();
    exchange_->receive_more();
  }
  void end() override {
    require(!std::exchange(over_, true));
    exchange_->respond({201, "text/plain", std::to_string(size_)});
  }
  void cut() override { require(!std::exchange(over_, true)); }

 private:
  const std::shared_ptr<Exchange> exchange_;
  std::size_t size_ = 0;
  bool over_ = false;
};

/// Says what it hears, and closes when it hears of a control.
class Echo : public WebSocketHandler {
 public:
  void speak_on(std::weak_ptr<WebSocket> socket) { socket_ = std::move(socket); }
  Say next() override {
    if (closes_) return WebSocketClose{1000, "so it is"};
    if (said_.empty()) return std::monostate();
    auto message = std::move(said_.front());
    said_.pop_front();
    return message;
  }
  void on_message(WebSocketMessage message, std::function<void()> done) override {
    if (message.kind == WebSocketMessage::Kind::Text)
      closes_ |= static_cast<bool>(attach::parse_control(message.bytes));
    said_.push_back(std::move(message));
    if (const auto socket = socket_.lock()) socket->wake();
    done();
  }

 private:
  std::weak_ptr<WebSocket> socket_;
  std::deque<WebSocketMessage> said_;
  bool closes_ = false;
};

/// The server, and what it was asked.
class Served {
 public:
  enum class Kind { Answered, Broken, Upgraded, Relayed };
  struct Asked {
    std::string method;
    Kind kind = Kind::Answered;
  };

  Served()
      : server_(
            io, "127.0.0.1", 0, [this](const HttpRequest& head) { return judge(head); },
            [this](auto exchange) { handle(std::move(exchange)); },
            [](unsigned status) {
              return HttpResponse{status, "text/plain", "no request"};
            }) {}

  void begin() { asked.clear(); }

  /// Answers what was put off.
  bool answer_late() {
    if (late_.empty()) return false;
    std::exchange(late_.front(), nullptr)->respond({200, "text/plain", "late"});
    late_.pop_front();
    return true;
  }

  unsigned short port() const { return server_.port(); }

  asio::io_context io{1};
  std::vector<Asked> asked;
  Count connections = 0;  ///< Open as the last was asked.

 private:
  static bool is(std::string_view target, std::string_view path) { return split_query(target).first == path; }

  /// To where nothing listens: what does on this machine is not to be called by a fuzzer.
  static bool is_relayed(std::string_view target) {
    return target.starts_with("/ports/1/") || target.starts_with("/ports/0/");
  }

  HttpServer::Verdict judge(const HttpRequest& head) {
    using Body = HttpServer::Verdict::Body;
    const auto known = HttpServer::Verdict::Caller::Known;
    asked.push_back({std::string(head.method)});
    if (is(head.target, "/refused")) return {known, HttpResponse{401, "text/plain", "refused"}};
    if (is_relayed(head.target)) return {known, std::nullopt, Body::Relayed};
    return {known, std::nullopt, is(head.target, "/files") ? Body::Stream : Body::Whole};
  }

  void handle(std::shared_ptr<Exchange> exchange) {
    const HttpRequest& request = exchange->request();
    connections = exchange->counters().connections;
    const auto stream = [&](bool breaks, std::optional<std::uint64_t> size = std::nullopt) {
      exchange->stream({200, "text/plain", {}}, std::make_shared<Pieces>(breaks), size);
    };
    if (is_relayed(request.target)) return relay(std::move(exchange));
    if (is(request.target, "/files")) return exchange->receive(std::make_shared<Sink>(exchange));
    if (is(request.target, "/sized")) return stream(false, 300);
    if (is(request.target, "/chunks")) return stream(false);
    if (is(request.target, "/breaks")) {
      if (request.method != "HEAD") asked.back().kind = Kind::Broken;
      return stream(true);
    }
    if (is(request.target, "/none")) return exchange->respond({204, "text/plain", ""});
    if (is(request.target, "/late")) return late_.push_back(std::move(exchange));
    if (is(request.target, agent_api::kAttach)) {
      const auto echo = std::make_shared<Echo>();
      const auto socket = exchange->upgrade(echo);
      if (!socket.expired()) asked.back().kind = Kind::Upgraded;
      return echo->speak_on(socket);
    }
    answer_whole(*exchange, request);
  }

  /// As the agent's own calls: what is in the body is read with their code.
  static void answer_whole(Exchange& exchange, const HttpRequest& request) {
    const Dialect dialect = caller_of(request).dialect;
    if (is(request.target, agent_api::kExecutions)) {
      const auto parsed = parse_exec_request(request.body, dialect, Mode::Plain);
      if (!parsed) return exchange.respond(to_response(invalid_request(parsed.error()), dialect));
    } else if (is(request.target, agent_api::kTerminals)) {
      const auto parsed = parse_terminal_size(request.body);
      if (!parsed) return exchange.respond(to_response(invalid_request(parsed.error()), dialect));
    }
    exchange.respond({200, "text/plain", std::to_string(request.body.size())});
  }

  /// By the real relay to where nothing listens; else as if all of a server's answer had come.
  void relay(std::shared_ptr<Exchange> exchange) {
    if (!is(exchange->request().target, "/ports/1/answer")) return relay_to_port(std::move(exchange));
    asked.back().kind = Kind::Relayed;
    const Handover from = exchange->hand_over();
    boost::system::error_code gone;
    from.socket.write_some(
        asio::buffer(std::string_view("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nrelayed")), gone);
    exchange->hang_up();
  }

  std::deque<std::shared_ptr<Exchange>> late_;
  HttpServer server_;
};

/// The other end of one connection.
class Client {
 public:
  explicit Client(Served& served)
      : served_(served), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Its end is a reset, so that no port of it stays in use: there will be many.
    const linger at_once{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    // Each piece goes out as it is said: with the last ones still held back, its end would come among them,
    // and who leaves before the answer gets none.
    const int undelayed = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &undelayed, sizeof undelayed);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(served.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // All ports may be in use for a moment, and the fuzzer has a timer, which interrupts.
    const auto deadline = Clock::now() + kPatience;
    while (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
           errno != EISCONN) {
      require(errno == EADDRNOTAVAIL || errno == EINTR || errno == EALREADY);
      require(Clock::now() < deadline);
      served_.io.run_one_for(1ms);
    }
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  }

  /// Writes, and has the server do all that it can do.
  void say(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      settle();
      if (sent < 0 && errno != EAGAIN) return;  // it has closed
    }
  }

  void finish() {
    ::shutdown(socket_.get(), SHUT_WR);
    settle();
  }

  /// Waits until what has come holds a text.
  bool await(std::string_view text) {
    for (const auto deadline = Clock::now() + kPatience; Clock::now() < deadline;
         served_.io.run_one_for(1ms)) {
      settle();
      if (heard_.find(text) != heard_.npos) return true;
    }
    return false;
  }

  const std::string& heard() const { return heard_; }

 private:
  void settle() {
    int events = 0;
    do {
      while (served_.io.poll_one() > 0) require(++events < kEvents);
      hear();
    } while (served_.answer_late() || served_.io.poll_one() > 0);
  }

  void hear() {
    char bytes[16384];
    for (;;) {
      const auto size = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (size <= 0) return;
      heard_.append(bytes, static_cast<std::size_t>(size));
    }
  }

  Served& served_;
  sys::Fd socket_;
  std::string heard_;
};

/// Reads answers as a client of ours does; the last may be cut off.
class Answers {
 public:
  explicit Answers(std::string_view heard) : rest_(heard) {}

  /// One, to a request of that method. False where there is none any more.
  bool next(std::string_view method) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    while (rest_.starts_with(kContinue)) rest_.remove_prefix(kContinue.size());
    if (rest_.empty()) return false;
    require(!closed_);  // nothing may come after what was the last
    const auto end = rest_.find("\r\n\r\n");
    require(rest_.starts_with("HTTP/1.0 ") || rest_.starts_with("HTTP/1.1 "));
    require(end != rest_.npos);
    const auto head = rest_.substr(0, end + 2);
    rest_.remove_prefix(end + 4);
    status_ = static_cast<unsigned>(std::atoi(std::string(head.substr(9, 3)).c_str()));
    require(status_ >= 101 && status_ < 600);
    const auto says = [&](std::string_view line) { return head.find(line) != head.npos; };
    const bool is_old = head.starts_with("HTTP/1.0 ");
    closed_ = says("\r\nConnection: close\r\n") || (is_old && !says("\r\nConnection: keep-alive\r\n"));
    const bool has_body = method != "HEAD" && status_ >= 200 && status_ != 204 && status_ != 304;
    if (has_body) skip_body(head);
    return true;
  }

  unsigned status() const { return status_; }
  std::string_view rest() const { return rest_; }

 private:
  void skip_body(std::string_view head) {
    if (head.find("\r\nTransfer-Encoding: chunked\r\n") != head.npos) return skip_chunks();
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const auto at = head.find(kLength);
    std::size_t size = rest_.size();  // up to the connection's end
    if (at == head.npos) {
      require(closed_);
    } else {
      const auto digits = head.substr(at + kLength.size());
      require(std::from_chars(digits.data(), digits.data() + digits.size(), size).ec == std::errc());
    }
    require(size <= rest_.size());
    rest_.remove_prefix(size);
  }

  void skip_chunks() {
    for (;;) {
      const auto line = rest_.substr(0, rest_.find("\r\n"));
      std::size_t size = 0;
      const auto read = std::from_chars(line.data(), line.data() + line.size(), size, 16);
      if (line.empty() && rest_.empty()) return;  // broken off
      require(read.ec == std::errc() && read.ptr == line.data() + line.size());
      require(rest_.size() >= line.size() + size + 4 && rest_.substr(line.size() + 2 + size, 2) == "\r\n");
      rest_.remove_prefix(line.size() + size + 4);
      if (size == 0) return;
    }
  }

  std::string_view rest_;
  unsigned status_ = 0;
  bool closed_ = false;
};

/// Frames of a server (RFC 6455, 5.2): not masked, whole, of a kind that there is.
void check_frames(std::string_view bytes) {
  while (bytes.size() >= 2) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
    const unsigned kind = byte(0) & 0xfu;
    require((byte(0) & 0xf0) == 0x80 && (kind == 1 || kind == 2 || (kind >= 8 && kind <= 10)));
    std::size_t size = byte(1), head = 2;
    require(size < 0x80);
    if (size >= 126) {
      head += size == 126 ? 2 : 8;
      if (bytes.size() < head) return;
      size = 0;
      for (std::size_t at = 2; at < head; ++at) size = size << 8 | byte(at);
    }
    bytes.remove_prefix(std::min(bytes.size(), head + size));
  }
}

void check(const std::vector<Served::Asked>& asked, std::string_view heard) {
  Answers answers(heard);
  for (const auto& request : asked) {
    // What is relayed is whatever a server says.
    const bool is_ours = request.kind != Served::Kind::Relayed;
    if (!answers.next(is_ours ? request.method : "GET")) return;  // it was not whole
    switch (request.kind) {
      case Served::Kind::Answered:
        break;
      case Served::Kind::Upgraded:
        if (answers.status() == 101) return check_frames(answers.rest());
        break;
      case Served::Kind::Broken:
      case Served::Kind::Relayed:
        require(answers.rest().empty());
        break;
    }
  }
  if (answers.next("GET")) require(answers.status() >= 400);  // to what was no request
  require(answers.rest().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Served& served = *new Served;
  if (size < 2) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  // Few pieces: each is a turn of the server. The second byte moves the first cut.
  std::size_t piece = std::max<std::size_t>(data[0] == 0 ? rest.size() : rest.size() / 24, 1) + data[0] % 8u;
  served.begin();
  {
    Client client(served);
    client.say(rest.substr(0, data[1]));
    rest.remove_prefix(std::min<std::size_t>(rest.size(), data[1]));
    for (; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) client.say(rest.substr(0, piece));
    client.finish();
    check(served.asked, client.heard());
  }
  Client next(served);
  for (const auto deadline = Clock::now() + kPatience;;) {
    served.begin();
    next.say("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    require(next.await("\r\n\r\n0"));
    if (served.connections == 1) break;  // the one before has gone, with all that it held
    require(Clock::now() < deadline);
  }
  return 0;
}
