#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <thread>

#include "container/sys/parse.h"
#include "tests/agent/agent_process.h"
#include "tests/agent/attached.h"

// Servers in the sandbox as a caller of the agent sees them, and what is told of the agent's own activity.

namespace roombox {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

/// A server in the sandbox, played by the test.
class Listener {
 public:
  enum class From { Now, Listen };

  explicit Listener(int family = AF_INET, From from = From::Now)
      : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr* address =
        family == AF_INET ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
    socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
    EXPECT_EQ(::bind(socket_.get(), address, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), address, &size), 0);
    port_ = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
    const timeval limit{20, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (from == From::Now) listen();
  }

  /// Until then connections are refused, the port being taken.
  void listen() { EXPECT_EQ(::listen(socket_.get(), 100), 0); }

  Client accept() {
    sys::Fd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_GE(connection.get(), 0) << "nobody came";
    return Client(std::move(connection));
  }

  std::string port() const { return std::to_string(port_); }

 private:
  sys::Fd socket_;
  int port_ = 0;
};

/// Ends a connection as the kernel ends that of a process which has left bytes unread.
void reset(const Client& connection) {
  const linger at_once{1, 0};
  ::setsockopt(connection.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), connection.descriptor());
}

class PortsTest : public AgentTest {
 protected:
  static std::string request(std::string_view method, const std::string& port, std::string_view path = "/",
                             std::string_view headers = "") {
    return std::string(method) + " /ports/" + port + std::string(path) + " HTTP/1.1\r\nHost: sandbox\r\n" +
           std::string(headers) + "\r\n";
  }

  std::size_t activity() const {
    const auto answer = call("GET /activity HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    return sys::parse<std::size_t>(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(999);
  }

  /// Waits for it.
  void expect_activity(std::size_t expected) const {
    const auto began = Clock::now();
    std::size_t found = activity();
    while (found != expected && Clock::now() - began < 5s) found = activity();
    EXPECT_EQ(found, expected);
  }

  long resident_kib() const {
    const auto status = proc("status");
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  }
};

TEST_F(PortsTest, PassTheRequestByteForByte) {
  Listener server;
  for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
           {"/a%2Fb/../c%20d//?x=1&y=%C3%A9&&z=?/#", "/a%2Fb/../c%20d//?x=1&y=%C3%A9&&z=?/#"},
           {"", "/"},
           {"?q", "/?q"},
           {"/", "/"},
           {"//x", "//x"},
           {"/\xc3\xa9", "/\xc3\xa9"}}) {
    auto client = connect();
    client.send(request("PATCH", server.port(), path));
    auto peer = server.accept();
    EXPECT_EQ(peer.receive_head(), "PATCH " + expected + " HTTP/1.1\r\nHost: localhost:" + server.port() +
                                       "\r\nConnection: close\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_EQ(client.receive(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  }
}

TEST_F(PortsTest, PassTheHeadersThatAreTheServers) {
  stop(SIGKILL);
  start("secret");
  Listener server;
  auto client = connect();
  client.send(
      request("GET", server.port(), "/",
              "Cookie: a=b\r\nRoombox-Token: secret\r\nAuthorization: Bearer mine\r\nroombox-sandbox: s\r\n"
              "ROOMBOX-ANYTHING: x\r\nConnection: keep-alive, X-Hop, content-length\r\nx-hop: 1\r\n"
              "Keep-Alive: timeout=5\r\nProxy-Authorization: p\r\nProxy-Connection: close\r\nTE: trailers\r\n"
              "Upgrade: h2c\r\nExpect: 100-continue\r\nCookie: c=d\r\nX-Folded: one\r\n \t two\r\n"
              "X-Empty:\r\nX-Forwarded-Host: h\r\nContent-Length: 4\r\n") +
      "body");
  auto peer = server.accept();
  EXPECT_EQ(
      peer.receive_head(),
      "GET / HTTP/1.1\r\nHost: localhost:" + server.port() +
          "\r\nCookie: a=b\r\nCookie: c=d\r\nAuthorization: Bearer mine\r\nX-Folded: one two\r\nX-Empty: \r\n"
          "X-Forwarded-Host: h\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(peer.receive_bytes(4), "body");
}

TEST_F(PortsTest, PassTheAnswersHeadersThatAreTheClients) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port()));
  auto peer = server.accept();
  peer.receive_head();
  peer.send("HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nRoombox-Outcome: lost\r\nroombox-execution : x\r\n\r\n");
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 502 "));

  auto other = connect();
  other.send(request("GET", server.port()));
  peer = server.accept();
  peer.receive_head();
  peer.send(
      "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nRoombox-Outcome: lost\r\nroombox-execution: x\r\nSet-Cookie: "
      "b\r\nAccess-Control-Allow-Origin: *\r\nService-Worker-Allowed: /\r\nClear-Site-Data: \"*\"\r\n"
      "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nServer: s\r\n"
      "Content-Length: 2\r\n\r\nok");
  EXPECT_EQ(other.receive(),
            "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nServer: s\r\nContent-Length: 2\r\n"
            "Connection: close\r\n\r\nok");
}

/// Takes a whole request and answers with its bytes.
std::thread echo(Listener& server, std::size_t size) {
  return std::thread([&server, size] {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    for (std::size_t echoed = 0; echoed < size;) {
      const auto bytes = peer.receive_bytes(std::min<std::size_t>(size - echoed, 100'000));
      if (bytes.empty()) return;
      peer.send(bytes);
      echoed += bytes.size();
    }
  });
}

TEST_F(PortsTest, PassWhatComesByteByByte) {
  Listener server;
  auto client = connect();
  for (const char byte :
       request("POST", server.port(), "/slow", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n0\r\n\r\nmore")
    client.send({&byte, 1});
  {
    auto peer = server.accept();
    EXPECT_THAT(peer.receive_head(), StartsWith("POST /slow HTTP/1.1\r\n"));
    EXPECT_EQ(peer.receive_body(), "ab");
    for (const char byte : std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"))
      peer.send({&byte, 1});
    EXPECT_EQ(client.receive_head(), "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(client.receive_bytes(4), "body");
  }
  EXPECT_TRUE(client.is_closed());
}

TEST_F(PortsTest, AreCalledManyTimesAtOnceAndLeaveNothingBehind) {
  const auto open_files = [this] {
    const auto files = std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd");
    return std::distance(begin(files), end(files));
  };
  const auto files_before = open_files();
  const auto memory_before = resident_kib();
  const std::string body(60'000, 'x');
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  Listener server;
  for (int round = 0; round < 3; ++round) {
    std::vector<Client> clients, peers;
    for (int i = 0; i < 100; ++i) {
      clients.push_back(connect());
      clients.back().send(request("PUT", server.port(), "/" + std::to_string(i), length) + body);
      peers.push_back(server.accept());
    }
    EXPECT_EQ(activity(), clients.size());
    while (!peers.empty()) {
      const auto head = peers.back().receive_head();
      EXPECT_TRUE(peers.back().receive_bytes(body.size()) == body);
      peers.back().send("HTTP/1.1 200 OK\r\n\r\n" + head.substr(0, head.find(" HTTP")));
      peers.pop_back();
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].receive_head();
      EXPECT_EQ(clients[i].receive_bytes(100), "PUT /" + std::to_string(i));
    }
    EXPECT_EQ(activity(), 0u);
  }
  const auto left = Clock::now();
  while (open_files() != files_before) ASSERT_LT(Clock::now() - left, 5s);
  EXPECT_LT(resident_kib(), memory_before + kSlackKib);
}

TEST_F(PortsTest, PassBodiesOfManyMegabytesBothWays) {
  std::string body(5 * kMegabyte, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 251);
  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 77'777) {
    const auto piece = body.substr(at, 77'777);
    char size[32];
    std::snprintf(size, sizeof size, "%zx;extension\r\n", piece.size());
    chunks += size + piece + "\r\n";
  }
  chunks += "0\r\nTrailer: x\r\n\r\n";
  for (const auto& [framing, bytes] : {std::pair("Content-Length: " + std::to_string(body.size()), body),
                                       std::pair(std::string("Transfer-Encoding: chunked"), chunks)}) {
    Listener server;
    auto echoing = echo(server, bytes.size());
    auto client = connect();
    std::thread sending([&] { client.send(request("POST", server.port(), "/", framing + "\r\n") + bytes); });
    Client reading(sys::Fd(::dup(client.descriptor())));
    EXPECT_EQ(reading.receive_head(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(reading.receive_bytes(bytes.size()) == bytes) << framing;
    EXPECT_TRUE(reading.is_closed());
    sending.join();
    echoing.join();
  }
}

TEST_F(PortsTest, PassAnswersWithoutABody) {
  Listener server;
  for (const auto& [method, head] : {std::pair("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"),
                                     std::pair("DELETE", "HTTP/1.1 204 No Content\r\n"),
                                     std::pair("GET", "HTTP/1.1 304 Not Modified\r\nETag: x\r\n")}) {
    auto client = connect();
    client.send(request(method, server.port()));
    {
      auto peer = server.accept();
      EXPECT_THAT(peer.receive_head(), StartsWith(method));
      peer.send(std::string(head) + "\r\n");
    }
    EXPECT_EQ(client.receive_head(), std::string(head) + "Connection: close\r\n\r\n");
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(PortsTest, PassABodyThatEndsWithItsConnection) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port()));
  {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.0 200 OK\nServer: tiny\n\n");  // as a shell's printf would
    EXPECT_EQ(client.receive_head(), "HTTP/1.0 200 OK\r\nServer: tiny\r\nConnection: close\r\n\r\n");
    peer.send("first ");
    EXPECT_EQ(client.receive_bytes(6), "first ");
    peer.send("last");
  }
  EXPECT_EQ(client.receive_bytes(100), "last");
}

TEST_F(PortsTest, PassTheCutOfABodyAsOne) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port()));
  {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe");
    client.receive_head();
    EXPECT_EQ(client.receive_chunk(), "hello");
  }
  EXPECT_EQ(client.receive_chunk(), std::nullopt);
  EXPECT_EQ(client.receive_bytes(100), "5\r\nhe");

  auto other = connect();
  other.send(request("GET", server.port()));
  auto peer = server.accept();
  peer.receive_head();
  peer.send("HTTP/1.1 200 OK\r\n\r\nhello");
  other.receive_head();
  EXPECT_EQ(other.receive_bytes(5), "hello");
  reset(peer);
  char byte;
  EXPECT_EQ(::recv(other.descriptor(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(PortsTest, PassNoInterimAnswers) {
  Listener server;
  auto client = connect();
  client.send(request("POST", server.port(), "/", "Content-Length: 1\r\n") + "x");
  auto peer = server.accept();
  peer.receive_head();
  std::string interim;
  for (int i = 0; i < 5000; ++i) interim += "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  peer.send("HTTP/1.1 100 Continue\r\n\r\n" + interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.receive(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
}

TEST_F(PortsTest, AreToldOfOneRequestOnly) {
  const std::string trace = "/tmp/roombox-agent-test/pipelined";
  std::filesystem::remove(trace);
  const std::string second = post(R"({"cmd":"touch )" + trace + R"("})", "Roombox-Token: secret\r\n");
  for (const auto& [headers, body] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"Content-Length: 4\r\n", "body"},
           {"Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n"}}) {
    Listener server;
    auto client = connect();
    client.send(request("POST", server.port(), "/", headers) + body + second);
    {
      auto peer = server.accept();
      const auto head = peer.receive_head();
      EXPECT_EQ(peer.receive_bytes(body.size()), body);
      peer.send("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
      EXPECT_THAT(client.receive(), HasSubstr("\r\nConnection: close\r\n\r\nok"));
      client.send(second);
      ::shutdown(client.descriptor(), SHUT_WR);
      EXPECT_TRUE(peer.is_closed()) << peer.receive_bytes(1000);
    }
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_THAT(call("GET /executions HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("Content-Length: 0\r\n"));
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(PortsTest, TakeARequestOnAConnectionThatWasUsedBefore) {
  Listener server;
  auto client = connect();
  for (int i = 0; i < 3; ++i) {
    client.send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.receive(), HasSubstr("bootId"));
  }
  client.send(request("GET", "0"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 404 "));
  client.send(request("GET", server.port()));
  {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 200 OK\r\n\r\nlast");
  }
  EXPECT_THAT(client.receive_bytes(1000), testing::EndsWith("last"));
}

constexpr char kUpgrade[] =
    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
    "13\r\nSec-WebSocket-Key: x\r\n";
constexpr char kSwitched[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: "
    "y\r\n\r\n";

TEST_F(PortsTest, PassAWebSocket) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port(), "/live", kUpgrade));
  auto peer = server.accept();
  EXPECT_EQ(peer.receive_head(), "GET /live HTTP/1.1\r\nHost: localhost:" + server.port() +
                                     "\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
                                     "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  peer.send(std::string(kSwitched) + "hello");
  EXPECT_EQ(client.receive_head(),
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(client.receive_bytes(5), "hello");
  for (int i = 0; i < 100; ++i) {
    const std::string message =
        "frame " + std::to_string(i) + std::string(static_cast<std::size_t>(i) * 100, '\0');
    client.send(message);
    EXPECT_EQ(peer.receive_bytes(message.size()), message);
    peer.send(message);
    EXPECT_EQ(client.receive_bytes(message.size()), message);
  }
  client.send("bye");
  ::shutdown(client.descriptor(), SHUT_RDWR);
  EXPECT_EQ(peer.receive_bytes(100), "bye");
}

TEST_F(PortsTest, MayRefuseAWebSocketButNotGiveOneUnasked) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port(), "/", kUpgrade));
  auto peer = server.accept();
  peer.receive_head();
  peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(client.receive(), "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");

  for (const char* headers : {"", "Upgrade: websocket\r\n", "Connection: Upgrade\r\nUpgrade: h2c\r\n"}) {
    auto other = connect();
    other.send(request("GET", server.port(), "/", headers));
    peer = server.accept();
    EXPECT_THAT(peer.receive_head(), HasSubstr("\r\nConnection: close\r\n"));
    peer.send(kSwitched);
    EXPECT_THAT(other.receive(), StartsWith("HTTP/1.1 502 "));
    EXPECT_TRUE(peer.is_closed());
  }
}

TEST_F(PortsTest, OfNobodyAreABadGateway) {
  Listener nobody(AF_INET, Listener::From::Listen);
  const auto answer = call(request("GET", nobody.port()));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 Bad Gateway\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("nothing listens on port " + nobody.port() + " "));
  EXPECT_THAT(answer, HasSubstr(R"("code":"bad_gateway")"));
  EXPECT_THAT(
      call(request("POST", nobody.port(), "/", "Roombox-Dialect: v1\r\nContent-Length: 9\r\n") + "abc"),
      HasSubstr(R"("type":"bad_gateway")"));
  const auto asked = Clock::now();
  EXPECT_THAT(call(request("GET", nobody.port(), "/", "Roombox-Wait: 150\r\n")), StartsWith("HTTP/1.1 502 "));
  EXPECT_GE(Clock::now() - asked, 150ms);
  expect_activity(0);
}

TEST_F(PortsTest, AreWaitedFor) {
  Listener server(AF_INET, Listener::From::Listen);
  auto client = connect();
  client.send(request("POST", server.port(), "/", "Roombox-Wait: 20000\r\nContent-Length: 200000\r\n") +
              std::string(200'000, 'x'));
  expect_activity(1);
  server.listen();
  auto peer = server.accept();
  EXPECT_THAT(peer.receive_head(), testing::Not(HasSubstr("Roombox")));
  EXPECT_EQ(peer.receive_bytes(200'000), std::string(200'000, 'x'));
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_THAT(client.receive(), testing::EndsWith("ok"));
}

TEST_F(PortsTest, AreWaitedForNoLongerThanTheClientDoes) {
  Listener nobody(AF_INET, Listener::From::Listen);
  {
    auto client = connect();
    client.send(request("POST", nobody.port(), "/", "Roombox-Wait: 60000\r\nContent-Length: 3\r\n") + "abc");
    expect_activity(1);
  }
  expect_activity(0);
}

TEST_F(PortsTest, AreFoundAtTheOtherAddress) {
  if (!std::filesystem::exists("/proc/net/if_inet6")) GTEST_SKIP() << "needs IPv6";
  Listener server(AF_INET6);
  auto client = connect();
  client.send(request("GET", server.port()));
  auto peer = server.accept();
  EXPECT_THAT(peer.receive_head(), HasSubstr("Host: localhost:"));
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_THAT(client.receive(), testing::EndsWith("ok"));
}

TEST_F(PortsTest, SeeTheClientLeave) {
  Listener server;
  const auto ask = [&] {
    auto client = connect();
    client.send(request("GET", server.port()));
    return client;
  };
  {  // before there is an answer
    auto client = std::optional(ask());
    auto peer = server.accept();
    peer.receive_head();
    client.reset();
    EXPECT_TRUE(peer.is_closed());
  }
  {  // half of it
    auto client = ask();
    auto peer = server.accept();
    peer.receive_head();
    ::shutdown(client.descriptor(), SHUT_WR);
    EXPECT_TRUE(peer.is_closed());
  }
  {  // in the middle of a download that has no end
    auto client = std::optional(ask());
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    client->receive_head();
    client.reset();
    const std::string piece(100'000, 'x');
    while (::send(peer.descriptor(), piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
  }
  {  // in the middle of an upload
    auto client = std::optional(connect());
    client->send(request("PUT", server.port(), "/", "Content-Length: 100\r\n") + "half");
    auto peer = server.accept();
    peer.receive_head();
    EXPECT_EQ(peer.receive_bytes(4), "half");
    client.reset();
    EXPECT_TRUE(peer.is_closed());
  }
  expect_activity(0);
}

TEST_F(PortsTest, ThatGiveNoAnswerAreABadGateway) {
  Listener server;
  for (const std::string& answer :
       {std::string(), std::string("HTTP/1.1 200 OK\r\nA: b\r\n"),
        std::string("HTTP/1.1 100 Continue\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2p1\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nA: " + std::string(66'000, 'x')}) {
    auto client = connect();
    client.send(request("GET", server.port()));
    {
      auto peer = server.accept();
      peer.receive_head();
      peer.send(answer);
    }
    EXPECT_THAT(client.receive(), testing::AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("bad_gateway")));
    EXPECT_TRUE(client.is_closed());
  }
  expect_activity(0);
}

TEST_F(PortsTest, AnswerAClientThatStillSends) {
  Listener server;
  auto client = connect();
  std::thread answering([&] {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    reset(peer);
  });
  client.send(request("POST", server.port(), "/", "Content-Length: 20000000\r\n") +
              std::string(20'000'000, 'x'));
  EXPECT_EQ(client.receive(), "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  answering.join();
}

TEST_F(PortsTest, AreNeverAheadOfTheirClients) {
  constexpr std::size_t kSize = 60 * kMegabyte;
  constexpr int kClients = 5;
  Listener server;
  std::vector<Client> clients;
  std::vector<std::thread> sending;
  const auto before = resident_kib();
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(connect());
    clients.back().send(request("GET", server.port()));
    sending.emplace_back([peer = server.accept()]() mutable {
      peer.receive_head();
      peer.send("HTTP/1.1 200 OK\r\n\r\n");
      const std::string piece(kMegabyte, 'x');
      for (std::size_t sent = 0; sent < kSize; sent += piece.size()) peer.send(piece);
    });
  }
  // One is read while the others stand still.
  long peak = 0;
  for (auto& client : clients) {
    client.receive_head();
    std::size_t size = 0;
    for (auto bytes = client.receive_bytes(kMegabyte); !bytes.empty();
         bytes = client.receive_bytes(kMegabyte)) {
      size += bytes.size();
      peak = std::max(peak, resident_kib());
    }
    EXPECT_EQ(size, kSize);
  }
  for (auto& thread : sending) thread.join();
  EXPECT_LT(peak, before + kSlackKib);
}

TEST_F(PortsTest, HaveANumber) {
  for (const char* port : {"0", "65536", "080", "-1", "+80", "80a", "", "99999999999999999999", "%38080"}) {
    EXPECT_THAT(call(request("GET", port)),
                testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("from 1 to 65535")))
        << port;
  }
  EXPECT_THAT(call(request("GET", std::to_string(port_), "/health")),
              testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("the sandbox's own")));
  EXPECT_THAT(call("GET /ports HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(PortsTest, AreForWhoKnowsTheToken) {
  stop(SIGKILL);
  start("secret");
  Listener server;
  EXPECT_THAT(call(request("GET", server.port())), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(call(request("GET", server.port(), "/", "Authorization: Bearer secret\r\n")),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(call("GET /activity HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(call("GET /activity HTTP/1.1\r\nHost: x\r\nRoombox-Token: secret\r\n\r\n"),
              testing::AllOf(HasSubstr("Content-Type: text/plain\r\n"), testing::EndsWith("\r\n\r\n0")));
}

TEST_F(PortsTest, GetNoBodyThatHasTwoEnds) {
  Listener server;
  for (const char* headers : {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
                              "Transfer-Encoding: gzip\r\nContent-Length: 4\r\n",
                              "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, gzip\r\n",
                              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                              "Content-Length: 4\r\nContent-Length: 5\r\n", "Content-Length: 4, 5\r\n",
                              "X: a\rb\r\n", "X: a\nY: b\r\n", "X : a\r\n"}) {
    auto client = connect();
    client.send(request("POST", server.port(), "/", headers) + "0\r\n\r\n");
    EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 400 ")) << headers;
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(PortsTest, OfACommandAreServed) {
  const std::string python = "/usr/bin/python3";
  if (::access(python.c_str(), X_OK) != 0) GTEST_SKIP() << "needs python3";
  std::string port;
  { port = Listener(AF_INET, Listener::From::Listen).port(); }
  auto client = connect();
  client.send(request("GET", port, "/?x", "Roombox-Wait: 20000\r\n"));
  call(
      post(R"({"cmd":"exec )" + python + " -m http.server --bind 127.0.0.1 " + port + R"(","detach":true})"));
  EXPECT_THAT(client.receive(), testing::AllOf(StartsWith("HTTP/1.0 200 OK\r\n"), HasSubstr("SimpleHTTP")));
  EXPECT_THAT(call(request("GET", port, "/none")), StartsWith("HTTP/1.0 404 "));
}

TEST_F(PortsTest, CountAsActivityWithAllElseThatGoesOn) {
  EXPECT_EQ(activity(), 0u);
  auto idle = connect();
  idle.send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.receive();
  auto records = connect();
  records.send("GET /records HTTP/1.1\r\nHost: x\r\n\r\n");
  records.receive_head();
  EXPECT_EQ(activity(), 0u);

  const auto started = call(post(R"({"cmd":"read line","detach":true})"));
  const auto at = started.find("exec_");
  const auto id = started.substr(at, started.find("\r\n", at) - at);
  EXPECT_EQ(activity(), 1u);
  auto attached = std::optional<Attached>(std::in_place, port_, id);
  EXPECT_EQ(activity(), 2u);

  Listener server;
  auto relayed = std::optional(connect());
  relayed->send(request("GET", server.port()));
  auto peer = server.accept();
  EXPECT_EQ(activity(), 3u);

  const std::string path = "/tmp/roombox-ports-file";
  std::ofstream(path) << std::string(30 * kMegabyte, 'x');
  auto download = std::optional(connect());
  download->send("GET /files?" + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  download->receive_head();
  EXPECT_EQ(activity(), 4u);
  auto upload = connect();
  upload.send("PUT /files?" + path + "-new HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx");
  expect_activity(5);
  auto waits = connect();
  waits.send(post(R"({"cmd":"read line < /tmp/roombox-agent-test/none || sleep 1000"})"));
  expect_activity(7);

  // And back.
  upload.send("y");
  EXPECT_THAT(upload.receive(), StartsWith("HTTP/1.1 20"));
  EXPECT_EQ(activity(), 6u);
  { auto leaves = std::move(waits); }
  expect_activity(4);
  download->receive_bytes(30 * kMegabyte);
  EXPECT_EQ(activity(), 3u);
  relayed.reset();
  expect_activity(2);
  attached->drop();
  attached.reset();
  expect_activity(1);
  call("POST /executions/" + id + "/kill HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  expect_activity(0);
  ::unlink(path.c_str());
  ::unlink((path + "-new").c_str());
}

TEST_F(PortsTest, EndAsActivityWithTheAnswer) {
  Listener server;
  auto client = connect();
  client.send(request("GET", server.port()));
  {
    auto peer = server.accept();
    peer.receive_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    client.receive_head();
    EXPECT_EQ(activity(), 1u);
  }
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(activity(), 0u);  // though the client has not closed
}

TEST_F(AgentTest, BearsTheNameThatItsLifeWasGiven) {
  stop(SIGKILL);
  boot_id_ = "b00710";
  start("");
  EXPECT_THAT(call("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("\r\nRoombox-Boot: b00710\r\n"));
  EXPECT_THAT(call("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr(R"("bootId":"b00710")"));
  EXPECT_THAT(call(post(R"({"cmd":"env"})")),
              testing::AllOf(HasSubstr("exec_b00710"), testing::Not(HasSubstr("ROOMBOX_"))));
  EXPECT_THAT(call("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("Roombox-Boot"));
}

TEST_F(AgentTest, NamesItsLifeItself) {
  EXPECT_THAT(call("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"),
              testing::ContainsRegex("\r\nRoombox-Boot: [0-9a-f]{12}\r\n"));
}

}  // namespace
}  // namespace roombox
