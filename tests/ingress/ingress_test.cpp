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
constexpr std::uint16_t kRoomPort = 8080;      // a server in the room
constexpr std::uint16_t kOutsidePort = 7777;   // a server outside it
constexpr std::uint16_t kWorkerdPort = 41234;  // where requests of the room are carried
constexpr uid_t kCommand = 1000;               // whoever runs commands
constexpr const char* kOutside4 = "10.77.0.1";
constexpr const char* kOutside6 = "fd77::1";
constexpr const char* kRoom4 = "10.77.0.2";
constexpr const char* kCertificate = "-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----\n";

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
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
  int fd_ = -1;
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

// Whose a socket is, the rules see by who made it.
template <typename Work>
auto as_command(Work work) {
  EXPECT_EQ(seteuid(kCommand), 0);
  auto result = work();
  EXPECT_EQ(seteuid(0), 0);
  return result;
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

bool command_reaches(const std::string& host, std::uint16_t port) {
  return as_command([&] { return reaches(host, port); });
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
    inside_ = Fd(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    outside_net_ = Fd(open(("/proc/" + std::to_string(outside_) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
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

  // A socket made in the other namespace stays there.
  template <typename Work>
  static auto from_outside(Work work) {
    EXPECT_EQ(setns(outside_net_.get(), CLONE_NEWNET), 0);
    auto result = work();
    EXPECT_EQ(setns(inside_.get(), CLONE_NEWNET), 0);
    return result;
  }

  // As the other namespace: whether it reaches a port of the room.
  static bool outside_reaches(std::uint16_t port) {
    return from_outside([port] { return reaches(kRoom4, port); });
  }

  static std::vector<std::string> command_line() {
    // The options that are not ours are the real interceptor's, as workerd passes them.
    return {INGRESS_BINARY,    "--http-egress-port",
            "41234",           "--http-ingress-address",
            "0.0.0.0:39001",   "--docker-gateway-cidr",
            "172.17.0.0/16",   "--dns-enabled",
            "--tls-intercept", "--disable-ipv6",
            "--policy",        INGRESS_RULES "policy.nft",
            "--egress-rules",  INGRESS_RULES "egress.nft",
            "--gateway",       kOutside4,
            "--certificate",   certificate_};
  }

  void start() {
    ingress_ = std::make_unique<Process>(command_line());
    ASSERT_TRUE(eventually([] { return outside_reaches(kIngressPort); }));
    ASSERT_EQ(configure("{}"), "HTTP/1.1 200 OK");  // it answers once the policy holds
  }

  // The same as a sandbox has that may reach some hosts, with a workerd to carry its requests.
  void start_with_hosts() {
    start();
    workerd_ = from_outside([] { return listen_on(kOutside4, kWorkerdPort); });
    ASSERT_GE(workerd_.get(), 0);
    ASSERT_EQ(configure(R"({"port":41234,"dns":{"allowHostnames":["registry.example","*.wild.example"]},)"
                        R"("internet":{"enabled":false}})"),
              "HTTP/1.1 200 OK");
  }

  // Tells it what workerd would; the first line of its answer.
  static std::string configure(const std::string& body) {
    const Fd client = request("PUT /egress HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string answer = read_to_end(client);
    return answer.substr(0, answer.find('\r'));
  }

  // A connection of a command that says something.
  static Fd say(const std::string& host, std::uint16_t port, const std::string& text) {
    Fd fd = as_command([&] { return connect_to(host, port); });
    EXPECT_GE(fd.get(), 0) << host << ": " << strerror(errno);
    send_all(fd, text);
    return fd;
  }

  // The connection that workerd gets, or none within a moment.
  Fd accept_at_workerd(std::chrono::milliseconds patience = 2s) const {
    pollfd wait{workerd_.get(), POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(patience.count())) != 1) return Fd();
    return Fd(accept4(workerd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  static bool was_reset(const Fd& fd) {
    char byte;
    return recv(fd.get(), &byte, 1, 0) == -1 && errno == ECONNRESET;
  }

  // What a name server says to a command's question of a type; empty if it says nothing.
  static std::string ask(const std::string& server, const std::string& name, char type, int transport) {
    std::string query("\x12\x34\x01\0\0\1\0\0\0\0\0\0", 12);
    for (std::size_t at = 0, end; at <= name.size(); at = end + 1) {
      end = std::min(name.find('.', at), name.size());
      query += static_cast<char>(end - at);
      query += name.substr(at, end - at);
    }
    query += std::string("\0\0", 2) + type + std::string("\0\1", 2);
    return exchange(server, query, transport);
  }

  static std::string exchange(const std::string& server, std::string query, int transport) {
    const bool tcp = transport == SOCK_STREAM;
    if (tcp) query = std::string(1, '\0') + static_cast<char>(query.size()) + query;
    const Address address = make_address(server, 53);
    const Fd fd = as_command([&] { return Fd(socket(AF_INET, transport | SOCK_CLOEXEC, 0)); });
    const timeval patience{1, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd.get(), address.get(), address.size), 0);
    send_all(fd, query);
    const std::string reply = read_some(fd, 1024);
    return tcp && reply.size() > 2 ? reply.substr(2) : reply;
  }

  std::size_t open_descriptors() const {
    const auto entries =
        std::filesystem::directory_iterator("/proc/" + std::to_string(ingress_->pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  static Fd request(const std::string& head) {
    Fd fd = from_outside([] { return connect_to(kRoom4, kIngressPort); });
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
  inline static Fd inside_;
  inline static Fd outside_net_;
  inline static std::string certificate_;
  Fd room_;
  Fd workerd_;
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
  EXPECT_FALSE(command_reaches(kOutside4, kOutsidePort));
  EXPECT_TRUE(command_reaches("127.0.0.1", kRoomPort));
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
  EXPECT_FALSE(outside_reaches(kIngressPort));
}

TEST_F(IngressTest, IsNotForTheRoomItself) {
  start();
  for (const char* address : {"127.0.0.1", kRoom4}) {
    EXPECT_FALSE(reaches(address, kIngressPort)) << address << ", for the agent, who relays to ports";
    EXPECT_FALSE(command_reaches(address, kIngressPort)) << address;
  }
}

TEST_F(IngressTest, CarriesACommandsRequestToWorkerdUnderTheNameItAsksFor) {
  start_with_hosts();
  const Fd command = say("192.0.2.7", 8000, "POST / HTTP/1.1\r\nHost: registry.example:8000\r\n\r\nbody");
  const Fd workerd = accept_at_workerd();
  EXPECT_EQ(
      read_head(workerd),
      "CONNECT 192.0.2.7:8000 HTTP/1.1\r\nHost: 192.0.2.7:8000\r\nX-Hostname: registry.example:8000\r\n\r\n");
  send_all(workerd, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(read_head(workerd), "POST / HTTP/1.1\r\nHost: registry.example:8000\r\n\r\n");
  EXPECT_EQ(read_some(workerd), "body");
  send_all(workerd, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(read_head(command), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_F(IngressTest, CarriesABodyOfAnySize) {
  start_with_hosts();
  const std::string head = "PUT / HTTP/1.1\r\nHost: registry.example\r\n";
  const std::string mebibytes(3 << 20, 'b');
  for (const std::string& size : {std::to_string(mebibytes.size()), std::to_string(5ull << 30)}) {
    const Fd command = say("192.0.2.7", 80, head + "Content-Length: " + size + "\r\n\r\n");
    const Fd workerd = accept_at_workerd();
    ASSERT_NE(read_head(workerd).find("X-Hostname: registry.example\r\n"), std::string::npos) << size;
    send_all(workerd, "HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_EQ(read_head(workerd), head + "Content-Length: " + size + "\r\n\r\n");
    std::thread sender([&] {
      send_all(command, mebibytes);
      shutdown(command.get(), SHUT_WR);
    });
    EXPECT_TRUE(read_to_end(workerd) == mebibytes) << size;
    sender.join();
  }
}

TEST_F(IngressTest, TakesAHeadThatComesInPieces) {
  start_with_hosts();
  const Fd command = say("192.0.2.7", 80, "GET / HTTP/1.1\r\nHo");
  EXPECT_LT(accept_at_workerd(200ms).get(), 0);
  send_all(command, "st: registry.example\r\n\r");
  send_all(command, "\n");
  EXPECT_NE(read_head(accept_at_workerd()).find("X-Hostname: registry.example\r\n"), std::string::npos);
}

TEST_F(IngressTest, RefusesWhatWorkerdDoesNotPlace) {
  start_with_hosts();
  for (const char* reply : {"HTTP/1.1 202 Accepted\r\n\r\n", "HTTP/1.1 405 No\r\n\r\n", ""}) {
    const Fd command = say(kOutside4, kOutsidePort, "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n");
    Fd workerd = accept_at_workerd();
    read_head(workerd);
    send_all(workerd, reply);
    workerd.reset();
    EXPECT_TRUE(was_reset(command)) << reply;
  }
}

TEST_F(IngressTest, AsksWorkerdForNobodyWithoutAName) {
  start_with_hosts();
  const std::string many(70000, 'x');
  for (const std::string& text : {std::string("GET / HTTP/1.0\r\n\r\n"), std::string("\x16\x03\x01 hello"),
                                  std::string("SSH-2.0-x\r\n"), "GET / HTTP/1.1\r\nX: " + many,
                                  std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
                                  std::string("GET / HTTP/1.1\r\nHost: registry.example@b\r\n\r\n")}) {
    const auto begin = Clock::now();
    EXPECT_TRUE(was_reset(say("192.0.2.7", 443, text))) << text.substr(0, 40);
    EXPECT_LT(Clock::now() - begin, 1s) << text.substr(0, 40);
  }
  EXPECT_LT(accept_at_workerd(0ms).get(), 0);
}

TEST_F(IngressTest, LetsNothingElseOutToo) {
  start_with_hosts();
  EXPECT_FALSE(reaches(kOutside4, kOutsidePort)) << "root's own, the agent's";
  EXPECT_FALSE(reaches(kOutside4, kWorkerdPort)) << "where the stand-in goes, for the agent";
  EXPECT_FALSE(command_reaches(kOutside6, kOutsidePort));
  EXPECT_FALSE(command_reaches("127.0.0.11", kRoomPort));
  EXPECT_TRUE(command_reaches("127.0.0.1", kRoomPort)) << "its own servers are not turned away";
  EXPECT_TRUE(command_reaches(kRoom4, kRoomPort));
  const Fd datagram = as_command([] { return Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); });
  const Address other = make_address(kOutside4, 123);
  EXPECT_EQ(sendto(datagram.get(), "x", 1, 0, other.get(), other.size), -1);
  // To itself: nobody was asked for.
  EXPECT_EQ(read_to_end(say("127.0.0.1", 39002, "GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n")), "");
}

TEST_F(IngressTest, AnswersNamesItself) {
  start_with_hosts();
  const std::string address = {'\0', '\4', '\xc6', '\x12', '\0', '\1'};  // 198.18.0.1, with its length
  constexpr char kA = 1;
  constexpr char kAaaa = 28;
  for (const int transport : {SOCK_DGRAM, SOCK_STREAM}) {
    for (const char* name : {"registry.example", "ReGistry.Example", "a.b.wild.example"}) {
      const std::string reply = ask("8.8.8.8", name, kA, transport);
      ASSERT_GT(reply.size(), 12u) << name;
      EXPECT_EQ(reply.substr(0, 8), std::string("\x12\x34\x81\x80\0\1\0\1", 8)) << name;
      EXPECT_EQ(reply.substr(reply.size() - address.size()), address) << name;
    }
    EXPECT_EQ(ask("192.0.2.7", "registry.example", kAaaa, transport).substr(2, 6),
              std::string("\x81\x80\0\1\0\0", 6));
    for (const char* name :
         {"other.example", "wild.example", "secret.registry.example", "registry.example.other"}) {
      EXPECT_EQ(ask("8.8.8.8", name, kA, transport).substr(2, 6), std::string("\x81\x83\0\1\0\0", 6)) << name;
    }
  }
}

TEST_F(IngressTest, SurvivesQueriesThatAreNone) {
  start_with_hosts();
  const std::string head("\x12\x34\x01\0\0\1\0\0\0\0\0\0", 12);
  for (const std::string& query : {std::string("x"), head, head + "\x3f" + "short", head + "\xc0\x0c",
                                   head + std::string("\1a\0\0\1", 5), std::string(12, '\xff')}) {
    for (const int transport : {SOCK_DGRAM, SOCK_STREAM})
      EXPECT_EQ(exchange("8.8.8.8", query, transport), "");
  }
  EXPECT_NE(ask("8.8.8.8", "registry.example", 1, SOCK_DGRAM), "");
}

TEST_F(IngressTest, LetsNothingOutAgainWithoutHosts) {
  start_with_hosts();
  EXPECT_EQ(configure(R"({"port":41235})"), "HTTP/1.1 200 OK") << "the port alone";
  EXPECT_TRUE(command_reaches(kOutside4, kOutsidePort)) << "as far as the stand-in";
  EXPECT_EQ(configure(R"({"port":41234,"dns":{"allowHostnames":[]}})"), "HTTP/1.1 200 OK");
  EXPECT_FALSE(command_reaches(kOutside4, kOutsidePort));
  EXPECT_EQ(configure("no JSON"), "HTTP/1.1 500 Internal Server Error");
  EXPECT_FALSE(command_reaches(kOutside4, kOutsidePort));
  EXPECT_EQ(configure(R"({"dns":{"allowHostnames":["registry.example"]}})"), "HTTP/1.1 200 OK");
  EXPECT_TRUE(command_reaches(kOutside4, kOutsidePort)) << "and again as far as the stand-in";
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
  EXPECT_TRUE(outside_reaches(kIngressPort));
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
