#include <poll.h>

#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"
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
  Reader(const Running& ours, const std::string& id)
      : socket_(ours.server.port(), "/executions/" + id + "/attach", ours.who.terminal->headers) {
    while (socket_.read().payload != std::string_view(&kEndOfReplay, 1)) continue;
  }

  void start() { socket_.send(Kind::Binary, std::string{kStdin, '\n'}); }

  void receive() {
    socket_.receive();
    while (const auto message = socket_.take()) {
      if (message->kind == Kind::Close) has_ended_ = true;
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

/// MiB/s that all clients get together; nothing where one was closed early: so the agent does with who is
/// behind, and on a busy machine that may be the reader here.
std::optional<double> speed(const Running& ours, const TextFile& file, int clients) {
  const json body{{"cmd", "read -r key; cat " + file.path()}, {"detach", true}};
  const auto id = start_execution(ours.server.port(), body.dump());
  std::vector<Reader> readers;
  for (int i = 0; i < clients; ++i) readers.emplace_back(ours, id);
  const double time = seconds_of([&] {
    readers.front().start();
    read_all(readers);
  });
  for (const auto& reader : readers) {
    if (reader.size() != file.size()) return std::nullopt;
  }
  return clients * static_cast<double>(file.size()) / (1 << 20) / time;
}

}  // namespace

void bench_fan_out(const Options& options, const Running& ours) {
  const TextFile file(std::min(kMost, static_cast<std::size_t>(options.mebibytes) << 20));
  for (const int clients : kClients) {
    Row row{"one output to " + std::to_string(clients) + " attached, all together", "MiB/s", Better::More};
    Samples speeds;
    for (int i = 0; i < options.streams; ++i) {
      if (const auto measured = speed(ours, file, clients)) speeds.add(*measured);
    }
    if (speeds.size() == 0) {
      leave_out("ours in \"" + row.name + "\"", "clients were behind and closed, each time");
      continue;
    }
    row.figures[kOurs] = figure_of(speeds);
    row.series = "one output to attached clients";
    row.x = clients;
    print(row);
  }
}

}  // namespace roombox::bench
