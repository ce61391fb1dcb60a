#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/sys/fd.h"

/// The agent as a process, over its socket: for the tests of what a caller sees.
namespace roombox {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlackKib = 512 << 10;  // the sanitizer keeps freed memory, 256 MiB of it
#else
inline constexpr int kSlackKib = 4 << 10;
#endif

/// A connection to the agent, or from it.
class Client {
 public:
  explicit Client(sys::Fd socket) : socket_(std::move(socket)) { limit_waits(); }
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    limit_waits();
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// One response, head and body; what is there of it where the connection ends first.
  std::string receive() {
    for (;;) {
      const auto head_end = buffer_.find("\r\n\r\n");
      if (head_end != buffer_.npos) {
        const auto field = buffer_.find("Content-Length: ");
        const auto size = head_end + 4 + (field < head_end ? std::stoul(buffer_.substr(field + 16)) : 0);
        if (buffer_.size() >= size) {
          auto response = buffer_.substr(0, size);
          buffer_.erase(0, size);
          return response;
        }
      }
      if (!fill()) return std::exchange(buffer_, {});
    }
  }

  /// The head of a response; what comes after it stays for the next call.
  std::string receive_head() {
    while (buffer_.find("\r\n\r\n") == buffer_.npos) {
      if (!fill()) return std::exchange(buffer_, {});
    }
    const auto end = buffer_.find("\r\n\r\n") + 4;
    auto head = buffer_.substr(0, end);
    buffer_.erase(0, end);
    return head;
  }

  /// The next chunk of a body in the chunked coding; empty at its end, nullopt where it is cut off.
  std::optional<std::string> receive_chunk() {
    for (;;) {
      const auto line = buffer_.find("\r\n");
      if (line != buffer_.npos) {
        const auto size = std::stoul(buffer_.substr(0, line), nullptr, 16);
        if (buffer_.size() >= line + 4 + size) {
          auto chunk = buffer_.substr(line + 2, size);
          buffer_.erase(0, line + 4 + size);
          return chunk;
        }
      }
      if (!fill()) return std::nullopt;
    }
  }

  /// A body in the chunked coding up to where it holds a text, or to its end.
  std::string receive_until(std::string_view text) {
    std::string body;
    while (body.find(text) == body.npos) {
      const auto chunk = receive_chunk();
      if (!chunk || chunk->empty()) break;
      body += *chunk;
    }
    return body;
  }

  /// The whole of a body in the chunked coding, which must not be cut off.
  std::string receive_body() {
    std::string body;
    for (;;) {
      const auto chunk = receive_chunk();
      EXPECT_TRUE(chunk) << "the body was cut off";
      if (!chunk || chunk->empty()) return body;
      body += *chunk;
    }
  }

  /// The next bytes of a body, as many as asked for; fewer where the connection ends first.
  std::string receive_bytes(std::size_t size) {
    while (buffer_.size() < size && fill()) {
    }
    std::string bytes = buffer_.substr(0, size);
    buffer_.erase(0, bytes.size());
    return bytes;
  }

  int descriptor() const { return socket_.get(); }

  /// Whether the agent closes, without a byte more.
  bool is_closed() { return buffer_.empty() && !fill() && buffer_.empty(); }

 private:
  void limit_waits() {
    const timeval limit{20, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  bool fill() {
    char bytes[65536];
    const auto size = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (size > 0) buffer_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }

  sys::Fd socket_;
  std::string buffer_;
};

inline std::string post(std::string_view body, std::string_view headers = "") {
  return "POST /executions HTTP/1.1\r\nHost: sandbox\r\nContent-Type: application/json\r\nRoombox-Sandbox: "
         "sandbox-r1\r\n" +
         std::string(headers) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

class AgentTest : public testing::Test {
 protected:
  AgentTest() { start(""); }
  ~AgentTest() override { stop(SIGKILL); }

  /// @param wrapper what the agent is started by; nothing for directly
  /// @param options of the agent, beside where it listens
  void start(const std::string& token, std::vector<std::string> wrapper = {},
             std::vector<std::string> options = {}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::string workspace = "/tmp/roombox-agent-test", secret = "ROOMBOX_AGENT_TOKEN=" + token;
    char agent[] = AGENT_BINARY, port_option[] = "--port=0", address[] = "--address=127.0.0.1";
    std::string workspace_option = "--workspace=" + workspace;
    // So that a test that crashes leaves no agent, which would hold its output open.
    std::string dies_with_us[] = {"setpriv", "--pdeathsig=KILL"};
    std::vector<char*> argv;
    for (auto& word : dies_with_us) argv.push_back(word.data());
    for (auto& word : wrapper) argv.push_back(word.data());
    argv.insert(argv.end(), {agent, port_option, address, workspace_option.data()});
    for (auto& option : options) argv.push_back(option.data());
    argv.push_back(nullptr);
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    std::string boot = "ROOMBOX_BOOT_ID=" + boot_id_;
    char* environment[] = {path, secret.data(), boot.data(), nullptr};
    ASSERT_EQ(::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environment), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    log_ = sys::Fd(ends[0]);
    std::string line;
    for (char c; ::read(log_.get(), &c, 1) == 1 && c != '\n';) line += c;
    const auto at = line.find("127.0.0.1:");
    ASSERT_NE(at, line.npos) << line;
    port_ = std::stoi(line.substr(at + 10));
  }

  /// The wait status of the agent.
  int stop(int signal) {
    int status = -1;
    if (pid_ > 0) {
      ::kill(pid_, signal);
      ::waitpid(pid_, &status, 0);
    }
    pid_ = 0;
    return status;
  }

  Client connect() const { return Client(port_); }
  std::string call(std::string_view request) const {
    auto client = connect();
    client.send(request);
    return client.receive();
  }

  std::string proc(const std::string& file) const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string boot_id_;  ///< Given to the next agent that is started; empty for one of its own.
  pid_t pid_ = 0;
  int port_ = 0;
  sys::Fd log_;
};

}  // namespace roombox
