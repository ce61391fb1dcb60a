// The ingress stand-in as workerd and a sandbox meet it: the real program, in a network namespace that is
// joined by a veth pair to another one, which plays the host's gateway, the engine's network and the other
// rooms.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint16_t kIngressPort = 39001;
constexpr std::uint16_t kRoomPort = 8080;     // a server in the room
constexpr std::uint16_t kOutsidePort = 7777;  // a server outside it
constexpr const char* kOutside4 = "10.77.0.1";
constexpr const char* kOutside6 = "fd77::1";
constexpr const char* kRoom4 = "10.77.0.2";
constexpr const char* kCertificate = "-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----\n";

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  void reset() { *this = Fd(); }

 private:
  int fd_;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address make_address(const std::string& host, std::uint16_t port) {
  Address address;
  if (host.find(':') != std::string::npos) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    inet_pton(AF_INET6, host.c_str(), &in6->sin6_addr);
    address.size = sizeof(*in6);
  } else {
    auto* in4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    in4->sin_family = AF_INET;
    in4->sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &in4->sin_addr);
    address.size = sizeof(*in4);
  }
  return address;
}

Fd listen_on(const std::string& host, std::uint16_t port) {
  const Address address = make_address(host, port);
  Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), address.get(), address.size) != 0 || listen(fd.get(), 128) != 0) return Fd();
  return fd;
}

// A connection, or none with errno saying why; gives up after two seconds.
Fd connect_to(const std::string& host, std::uint16_t port) {
  const Address address = make_address(host, port);
  Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{2, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const timeval patience{5, 0};  // so that a read that should not hang fails the test instead of the suite
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (connect(fd.get(), address.get(), address.size) != 0) return Fd();
  return fd;
}

bool reaches(const std::string& host, std::uint16_t port) {
  return connect_to(host, port).get() >= 0;
}

void send_all(const Fd& fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = send(fd.get(), data.data(), data.size(), MSG_NOSIGNAL);
    ASSERT_GT(count, 0) << std::strerror(errno);
    data.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_some(const Fd& fd, std::size_t most = 65536) {
  std::string data(most, '\0');
  const ssize_t count = recv(fd.get(), data.data(), data.size(), 0);
  data.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return data;
}

std::string read_to_end(const Fd& fd) {
  std::string all;
  for (std::string part; !(part = read_some(fd)).empty();) all += part;
  return all;
}

std::string read_head(const Fd& fd) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    const std::string byte = read_some(fd, 1);  // one at a time: what follows is the tunnel's
    if (byte.empty()) break;
    head += byte;
  }
  return head;
}

template <typename Condition>
bool eventually(Condition condition) {
  for (const auto end = Clock::now() + 3s; Clock::now() < end; std::this_thread::sleep_for(5ms)) {
    if (condition()) return true;
  }
  return condition();
}

int shell(const std::string& command) {
  return std::system(command.c_str());
}

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) != 0) pid_ = -1;
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  pid_t pid() const { return pid_; }
  // The exit code; 128 + signal where one ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

class IngressTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0 || shell("command -v nft ip setpriv >/dev/null") != 0) {
      missing_ = "needs root, nft, ip and setpriv";
      return;
    }
    if (unshare(CLONE_NEWNET) != 0) {
      missing_ = "may not make a network namespace";
      return;
    }
    start_outside();
    const std::string outside = "nsenter -t " + std::to_string(outside_) + " -n ip ";
    const std::string script =
        "set -e; ip link set lo up; ip link add room0 type veth peer name host0 netns " +
        std::to_string(outside_) + "; ip addr add 10.77.0.2/24 dev room0; " +
        "ip -6 addr add fd77::2/64 dev room0 nodad; ip link set room0 up; " +
        "ip route add default via 10.77.0.1; " + outside + "link set lo up; " + outside +
        "addr add 10.77.0.1/24 dev host0; " + outside + "-6 addr add fd77::1/64 dev host0 nodad; " + outside +
        "link set host0 up";
    ASSERT_EQ(shell(script), 0);
    certificate_ =
        std::filesystem::temp_directory_path() / ("ingress_test." + std::to_string(getpid()) + ".pem");
    std::ofstream(certificate_) << kCertificate;
  }

  static void TearDownTestSuite() {
    if (outside_ > 0) {
      kill(outside_, SIGKILL);
      waitpid(outside_, nullptr, 0);
    }
    std::filesystem::remove(certificate_);
  }

  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
    shell("nft flush ruleset");
    room_ = listen_on("0.0.0.0", kRoomPort);
    ASSERT_GE(room_.get(), 0);
  }

  // The other namespace, with a server in it that answers every connection with where it stands.
  static void start_outside() {
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    outside_ = fork();
    if (outside_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (unshare(CLONE_NEWNET) != 0) _exit(1);
      const Fd server = listen_on("::", kOutsidePort);
      [[maybe_unused]] const ssize_t count = write(ready[1], "r", 1);
      for (;;) Fd accepted(accept(server.get(), nullptr, nullptr));
    }
    char byte;
    [[maybe_unused]] const ssize_t count = read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
  }

  // As the other namespace: whether it reaches a port of the room.
  static bool outside_reaches(std::uint16_t port) {
    return shell("nsenter -t " + std::to_string(outside_) + " -n timeout 1 bash -c 'exec 3<>/dev/tcp/" +
                 kRoom4 + "/" + std::to_string(port) + "' 2>/dev/null") == 0;
  }

  static std::vector<std::string> command_line() {
    // The options that are not ours are the real interceptor's, as workerd passes them.
    return {INGRESS_BINARY,           "--http-egress-port", "41234",
            "--http-ingress-address", "0.0.0.0:39001",      "--docker-gateway-cidr",
            "172.17.0.0/16",          "--dns-enabled",      "--tls-intercept",
            "--disable-ipv6",         "--policy",           INGRESS_POLICY,
            "--certificate",          certificate_};
  }

  void start() {
    ingress_ = std::make_unique<Process>(command_line());
    ASSERT_TRUE(eventually([] { return reaches("127.0.0.1", kIngressPort); }));
  }

  std::size_t open_descriptors() const {
    const auto entries =
        std::filesystem::directory_iterator("/proc/" + std::to_string(ingress_->pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  static Fd request(const std::string& head) {
    Fd fd = connect_to("127.0.0.1", kIngressPort);
    send_all(fd, head);
    return fd;
  }

  // The client's end and the server's end of a new tunnel to the room's server.
  std::pair<Fd, Fd> open_tunnel() {
    Fd client = request("CONNECT room HTTP/1.1\r\nX-Dst-Addr: 127.0.0.1:8080\r\n\r\n");
    EXPECT_EQ(read_head(client), "HTTP/1.1 200 OK\r\n\r\n");
    Fd server(accept4(room_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval patience{5, 0};
    setsockopt(server.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return {std::move(client), std::move(server)};
  }

  inline static std::string missing_;
  inline static pid_t outside_ = -1;
  inline static std::string certificate_;
  Fd room_;
  std::unique_ptr<Process> ingress_;
};

TEST_F(IngressTest, KeepsTheRoomIn) {
  // The wires work before, so that what fails afterwards fails because of the policy.
  ASSERT_TRUE(
      eventually([] { return reaches(kOutside4, kOutsidePort) && reaches(kOutside6, kOutsidePort); }));
  ASSERT_TRUE(outside_reaches(kRoomPort));
  start();

  const auto begin = Clock::now();
  EXPECT_FALSE(reaches(kOutside4, kOutsidePort));
  EXPECT_FALSE(reaches(kOutside6, kOutsidePort));
  EXPECT_FALSE(reaches("192.0.2.1", 443));
  EXPECT_LT(Clock::now() - begin, 1s) << "refused at once, not left hanging";
  EXPECT_FALSE(reaches("127.0.0.11", kRoomPort)) << "where Docker's resolver would be";
  EXPECT_FALSE(outside_reaches(kRoomPort));

  const Fd datagram(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Address resolver = make_address(kOutside4, 53);
  EXPECT_EQ(sendto(datagram.get(), "x", 1, 0, resolver.get(), resolver.size), -1);

  EXPECT_TRUE(reaches("127.0.0.1", kRoomPort));
  EXPECT_TRUE(reaches(kRoom4, kRoomPort)) << "its own address, by loopback";
  EXPECT_TRUE(outside_reaches(kIngressPort));
}

TEST_F(IngressTest, OffersNoWayRoundThePolicy) {
  start();
  const Fd client =
      request("CONNECT out HTTP/1.1\r\nX-Dst-Addr: 10.77.0.1:7777\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(read_head(client).substr(0, 12), "HTTP/1.1 400");
}

TEST_F(IngressTest, DoesNotListenWithoutAPolicy) {
  std::vector<std::string> arguments = {"setpriv", "--bounding-set=-net_admin"};
  for (std::string& argument : command_line()) arguments.push_back(std::move(argument));
  Process powerless(arguments);
  EXPECT_EQ(powerless.wait(), 1);
  EXPECT_FALSE(reaches("127.0.0.1", kIngressPort));
}

TEST_F(IngressTest, AnswersWhatWorkerdAsks) {
  start();
  const Fd client = request("PUT /egress HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(read_head(client).substr(0, 15), "HTTP/1.1 200 OK");
  send_all(client, "GET /ca HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");  // on the same connection
  const std::string answer = read_to_end(client);
  EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find(kCertificate), std::string::npos);
}

TEST_F(IngressTest, SaysWhenNobodyListens) {
  start();
  const Fd client = request("CONNECT room HTTP/1.1\r\nX-Dst-Addr: 127.0.0.1:9\r\n\r\n");
  EXPECT_EQ(read_head(client).substr(0, 12), "HTTP/1.1 400");
}

TEST_F(IngressTest, RefusesWhatIsNoAddress) {
  start();
  for (const char* address : {"localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
                              "127.0.0.1:80x", ":80", "[::1", ""}) {
    const Fd client = request(std::string("CONNECT room HTTP/1.1\r\nX-Dst-Addr: ") + address + "\r\n\r\n");
    EXPECT_EQ(read_head(client).substr(0, 12), "HTTP/1.1 400") << address;
  }
}

TEST_F(IngressTest, DropsWhatIsNotHttp) {
  start();
  EXPECT_EQ(read_to_end(request("\x16\x03\x01 hello\r\n\r\n")), "");
  EXPECT_EQ(read_to_end(request("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x'))), "");
  EXPECT_TRUE(reaches("127.0.0.1", kIngressPort));
}

TEST_F(IngressTest, PassesBytesThatCameWithTheConnect) {
  start();
  const Fd client = request("CONNECT room HTTP/1.1\r\nX-Dst-Addr: 127.0.0.1:8080\r\n\r\nearly");
  const Fd server(accept4(room_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(read_some(server), "early");
}

TEST_F(IngressTest, PassesTheEndOfOneDirectionOnly) {
  start();
  auto [client, server] = open_tunnel();
  send_all(client, "question");
  shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(read_to_end(server), "question");
  send_all(server, std::string(300000, 'a'));
  server.reset();
  EXPECT_EQ(read_to_end(client), std::string(300000, 'a'));
}

TEST_F(IngressTest, PassesAResetAsAReset) {
  start();
  auto [client, server] = open_tunnel();
  send_all(server, "half an ans");
  EXPECT_EQ(read_some(client), "half an ans");
  const linger now{1, 0};
  setsockopt(server.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  server.reset();
  char byte;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(IngressTest, HoldsASenderBackWhileNobodyReads) {
  start();
  auto [client, server] = open_tunnel();
  fcntl(server.get(), F_SETFL, O_NONBLOCK);
  const std::string block(1 << 20, 'b');
  std::size_t sent = 0;
  // Until the sockets' own buffers are full and stay full; a tunnel that hoards would take all of it.
  for (pollfd wait{server.get(), POLLOUT, 0}; sent < (256u << 20) && poll(&wait, 1, 300) > 0;) {
    const ssize_t count = send(server.get(), block.data(), block.size(), MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  EXPECT_LT(sent, 64u << 20);
  server.reset();
  EXPECT_EQ(read_to_end(client).size(), sent) << "and loses nothing";
}

TEST_F(IngressTest, KeepsNothingOfAnEndedTunnel) {
  start();
  std::size_t before = 0;
  ASSERT_TRUE(eventually([&] { return std::exchange(before, open_descriptors()) == open_descriptors(); }));
  for (int i = 0; i < 200; ++i) {
    auto [client, server] = open_tunnel();
    send_all(client, "x");
    (i % 2 == 0 ? client : server).reset();  // either side may go first
    EXPECT_LE(read_to_end(i % 2 == 0 ? server : client).size(), 1u);
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }))
      << open_descriptors() << " > " << before;
}

TEST_F(IngressTest, EndsAtOnceOnSigterm) {
  start();
  const auto [client, server] = open_tunnel();
  const auto begin = Clock::now();
  kill(ingress_->pid(), SIGTERM);
  EXPECT_EQ(ingress_->wait(), 0);
  EXPECT_LT(Clock::now() - begin, 500ms);
}

}  // namespace
