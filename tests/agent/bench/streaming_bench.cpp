#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/sse.h"

namespace roombox::bench {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr Target kStreaming{Target::Bound::AtLeast, 0.6};

/// Lines as of a log, in memory, readable to all; gone with its owner.
class TextFile {
 public:
  explicit TextFile(std::size_t size) : size_(size) {
    Fd file(must("mkstemp", ::mkstemp(path_.data())));
    must("fchmod", ::fchmod(file.get(), 0644));
    std::ofstream lines(path_);
    for (std::size_t number = 0, written = 0; written < size; ++number) {
      std::string line = std::to_string(1'000'000'000 + number) +
                         " INFO worker: took the next of the requests that wait, and answered it\n";
      line.resize(std::min(line.size(), size - written), '\n');
      lines << line;
      written += line.size();
    }
    if (!lines.flush()) fail("cannot write " + path_);
  }
  ~TextFile() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }

 private:
  std::string path_ = "/dev/shm/roombox-bench-XXXXXX";
  std::size_t size_;
};

/// Reads sockets to their end and does nothing with what it gets but to count it and to keep the last of it.
class Reader {
 public:
  /// Bytes read.
  std::size_t read(int socket) {
    total_ = 0;
    for (;;) {
      const auto at = total_ % bytes_.size();
      const auto most = std::min(kStep, bytes_.size() - at);
      const auto size = must("recv", ::recv(socket, bytes_.data() + at, most, 0));
      if (size == 0) return total_;
      total_ += static_cast<std::size_t>(size);
    }
  }

  /// The last bytes, for a look after the time was taken.
  std::string last() const {
    if (total_ <= bytes_.size()) return bytes_.substr(0, total_);
    const auto at = total_ % bytes_.size();
    return bytes_.substr(at) + bytes_.substr(0, at);
  }

 private:
  static constexpr std::size_t kStep = 256u << 10;
  /// More than an exit event takes with its MiB of output.
  std::string bytes_ = std::string(8u << 20, 0);
  std::size_t total_ = 0;
};

std::string streaming_request(const TextFile& file, std::string_view headers) {
  const nlohmann::json body{{"cmd", "cat " + file.path()}, {"stream", true}, {"timeout_ms", 600'000}};
  return post("/executions", body.dump(), headers);
}

std::string streaming_request(const TextFile& file) {
  return streaming_request(file, "Connection: close\r\n");
}

double time_cat(Reader& reader, const TextFile& file, floor::Socket kind) {
  return seconds_of([&] {
    const floor::Cat cat(file.path(), kind);
    if (reader.read(cat.output()) != file.size()) fail("cat alone lost bytes");
  });
}

double time_agent(Reader& reader, const TextFile& file, const ServerProcess& agent) {
  const double time = seconds_of([&] {
    const Fd socket = connect_to(agent.port());
    send_all(socket.get(), streaming_request(file));
    reader.read(socket.get());
  });
  // The end's number is that of all bytes, of the start before them and of itself.
  const std::string end = "id: " + std::to_string(file.size() + 2) + "\n";
  const std::string last = reader.last();
  const auto at = last.rfind("event: exit\n");
  if (at == last.npos || last.find("\"exitCode\":0", at) == last.npos) fail("the stream has no exit of 0");
  const auto event = last.rfind("\n\n", at);
  if (last.find(end, event) == last.npos) fail("the stream's last event does not count all bytes");
  return time;
}

double time_node(Reader& reader, const TextFile& file, const ServerProcess& node) {
  return seconds_of([&] {
    const Fd socket = connect_to(node.port());
    send_all(socket.get(), streaming_request(file));
    if (reader.read(socket.get()) < file.size()) fail("node lost bytes");
  });
}

/// Reads a stream as a client does, and compares every byte with the file. Not timed.
void verify_events(const TextFile& file, const ServerProcess& agent) {
  std::ifstream expected(file.path());
  std::string piece;
  std::uint64_t last_id = 0;
  bool ended = false;
  SseReader events([&](const SseEvent& event) {
    const auto data = nlohmann::json::parse(event.data);
    std::size_t units = 1;
    if (ended || (event.name == "start") != (last_id == 0)) fail("an event out of place: " + event.name);
    if (event.name == "stdout") {
      const auto& text = data.at("data").get_ref<const std::string&>();
      units = text.size();
      piece.resize(units);
      if (!expected.read(piece.data(), static_cast<std::streamsize>(units)) || piece != text)
        fail("the stream differs from the file before byte " + std::to_string(event.id));
    } else if (event.name == "exit") {
      ended = true;
      auto result = data.at("result");
      result.erase("stdout");
      if (result.at("exitCode") != 0) fail("cat failed: " + result.dump());
    } else if (event.name != "start") {
      fail("an event that should not be: " + event.name);
    }
    if (event.id != last_id + units) fail("the event after " + std::to_string(last_id) + " has a wrong id");
    last_id = event.id;
  });
  Connection connection(agent.port());
  connection.send(streaming_request(file, ""));
  const auto head = connection.receive_head();
  if (head.status != 200 || head.header("Content-Type") != "text/event-stream")
    fail("no stream: " + head.head);
  for (auto bytes = connection.receive_body(); !bytes.empty(); bytes = connection.receive_body())
    events.take(bytes);
  if (!ended || last_id != file.size() + 2) fail("the stream ended early");
}

}  // namespace

void bench_streaming(const Options& options, Servers& servers) {
  const TextFile file(static_cast<std::size_t>(options.mebibytes) << 20);
  verify_events(file, servers.agent);
  Reader reader;
  Samples ours, tcp, node, of_tcp, of_unix;
  for (int i = -1; i < options.streams; ++i) {
    if (i == 0) ours = tcp = node = of_tcp = of_unix = {};
    const double tcp_time = time_cat(reader, file, floor::Socket::Tcp);
    const double our_time = time_agent(reader, file, servers.agent);
    const double unix_time = time_cat(reader, file, floor::Socket::Unix);
    if (servers.node) node.add(time_node(reader, file, *servers.node));
    ours.add(our_time);
    tcp.add(tcp_time);
    of_tcp.add(tcp_time / our_time);
    of_unix.add(unix_time / our_time);
  }
  const auto speed = [&](const Samples& times) {
    return static_cast<double>(file.size()) / kMebibyte / times.median();
  };
  Row row;
  row.name = "streaming " + std::to_string(options.mebibytes) + " MiB of lines, MiB/s";
  row.ours = speed(ours);
  row.floor = speed(tcp);
  if (servers.node) row.node = speed(node);
  row.ratio = of_tcp.median();
  row.target = kStreaming;
  print(row);
  print({"  beside cat through a Unix socket", {}, {}, {}, 0, of_unix.median(), {}});
}

}  // namespace roombox::bench
