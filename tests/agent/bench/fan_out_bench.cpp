#include <poll.h>

#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/text_file.h"
#include "tests/agent/bench/web_socket_client.h"

namespace roombox::bench {
namespace {

using nlohmann::json;
using Kind = WebSocketClient::Kind;

constexpr int kClients[] = {1, 8, 32};
constexpr std::size_t kMost = 32u << 20;
constexpr char kStdin = 0, kStdout = 1, kExit = 3, kEndOfReplay = 4;  // docs/api.md: the channels of attach

/// One of those that are attached; takes what comes and counts it.
class Reader {
 public:
  Reader(std::uint16_t port, const std::string& id)
      : socket_(port, "/executions/" + id + "/attach",
                "Roombox-Sandbox: sandbox-r1\r\nRoombox-Dialect: rooms\r\n") {
    while (socket_.read().payload != std::string_view(&kEndOfReplay, 1)) continue;
  }

  void start() { socket_.send(Kind::Binary, std::string{kStdin, '\n'}); }

  void receive() {
    socket_.receive();
    while (const auto message = socket_.take()) {
      if (message->kind == Kind::Close && !has_ended_) fail("an attached client was closed early");
      if (message->kind != Kind::Binary || message->payload.empty()) continue;
      if (message->payload[0] == kStdout) size_ += message->payload.size() - 1;
      if (message->payload[0] == kExit) has_ended_ = true;
    }
  }

  int socket() const { return socket_.socket(); }
  bool has_ended() const { return has_ended_; }
  std::size_t size() const { return size_; }

 private:
  WebSocketClient socket_;
  std::size_t size_ = 0;
  bool has_ended_ = false;
};

void read_all(std::vector<Reader>& readers) {
  std::vector<pollfd> sockets;
  for (const auto& reader : readers) sockets.push_back({reader.socket(), POLLIN, 0});
  for (std::size_t open = readers.size(); open > 0;) {
    must("poll", ::poll(sockets.data(), sockets.size(), -1));
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (sockets[i].fd < 0 || sockets[i].revents == 0) continue;
      readers[i].receive();
      if (!readers[i].has_ended()) continue;
      sockets[i].fd = -1;  // no longer looked at
      --open;
    }
  }
}

/// MiB/s that all clients get together.
double speed(const ServerProcess& agent, const TextFile& file, int clients) {
  const json body{{"cmd", "read -r key; cat " + file.path()}, {"detach", true}};
  const auto started = Connection(agent.port()).exchange(post("/executions", body.dump()));
  if (started.status != 202) fail("not started: " + started.head + started.body);
  const std::string id = json::parse(started.body).at("result").at("id");
  std::vector<Reader> readers;
  for (int i = 0; i < clients; ++i) readers.emplace_back(agent.port(), id);
  const double time = seconds_of([&] {
    readers.front().start();
    read_all(readers);
  });
  for (const auto& reader : readers) {
    if (reader.size() != file.size()) fail("an attached client got another number of bytes");
  }
  return clients * static_cast<double>(file.size()) / (1 << 20) / time;
}

}  // namespace

void bench_fan_out(const Options& options, const ServerProcess& agent) {
  const TextFile file(std::min(kMost, static_cast<std::size_t>(options.mebibytes) << 20));
  for (const int clients : kClients) {
    Samples speeds;
    for (int i = 0; i < options.streams; ++i) speeds.add(speed(agent, file, clients));
    Row row{"one output to " + std::to_string(clients) + " attached, all together", "MiB/s", Better::More};
    row.figures[kOurs] = figure_of(speeds);
    row.series = "one output to attached clients";
    row.x = clients;
    print(row);
  }
}

}  // namespace roombox::bench
