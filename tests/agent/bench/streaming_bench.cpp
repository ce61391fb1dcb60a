#include <sys/socket.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/sse.h"
#include "tests/agent/bench/stream_reader.h"
#include "tests/agent/bench/text_file.h"

namespace roombox::bench {
namespace {

/// MiB of the small file, and the seconds that it may take.
constexpr int kSmall = 100;
constexpr double kSmallGoal = 0.25;
constexpr double kOfFloor = 0.6;

double time_floor(StreamReader& reader, const TextFile& file) {
  return seconds_of([&] {
    const floor::Cat cat(file.path(), floor::open_tcp());
    if (reader.read(cat.output()) != file.size()) fail("cat alone lost bytes");
  });
}

double time_stream(StreamReader& reader, const TextFile& file, const Running& running) {
  const auto request = running.who.stream(Shell::Bash, "cat " + file.path());
  std::size_t size = 0;
  const double time = seconds_of([&] {
    const Fd socket = connect_to(running.server.port());
    send_all(socket.get(), request);
    size = reader.read(socket.get());
  });
  if (size < file.size()) fail(running.who.name + " lost bytes of a stream");
  if (running.who.name == kOurs) check_events(reader.last(), file.size());
  return time;
}

/// Reads a stream as a client does, and compares every byte with the file. Not timed.
void verify_events(const TextFile& file, const Running& ours) {
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
  Connection connection(ours.server.port());
  connection.send(ours.who.stream(Shell::Bash, "cat " + file.path()));
  const auto head = connection.receive_head();
  if (head.status != 200 || head.header("Content-Type") != "text/event-stream")
    fail("no stream: " + head.head);
  for (auto bytes = connection.receive_body(); !bytes.empty(); bytes = connection.receive_body())
    events.take(bytes);
  if (!ended || last_id != file.size() + 2) fail("the stream ended early");
}

/// Seconds that each takes for a file, in turns.
std::map<std::string, Samples> time_all(const TextFile& file, const Field& field, int turns) {
  StreamReader reader;
  std::map<std::string, Samples> times;
  for (int i = -1; i < turns; ++i) {
    if (i == 0) times.clear();
    times[kFloor].add(time_floor(reader, file));
    for (const auto& running : field) {
      if (running->who.stream) times[running->who.name].add(time_stream(reader, file, *running));
    }
  }
  return times;
}

}  // namespace

void bench_streaming(const Options& options, const Field& field) {
  const auto mebibytes = [](int count) { return static_cast<std::size_t>(count) << 20; };
  const int few = std::min(kSmall, options.mebibytes);
  const TextFile small(mebibytes(few)), large(mebibytes(options.mebibytes));
  verify_events(small, *field.front());
  Row time{std::to_string(few) + " MiB of lines, streamed", "s"};
  for (const auto& [who, samples] : time_all(small, field, options.streams))
    time.figures[who] = figure_of(samples);
  time.goals = {at_most(kSmallGoal)};
  print(ahead(std::move(time)));

  Row speed{"streaming " + std::to_string(options.mebibytes) + " MiB of lines", "MiB/s", Better::More};
  for (const auto& [who, samples] : time_all(large, field, options.streams))
    speed.figures[who] = rate_of(samples, options.mebibytes);
  speed.goals = {at_least(kOfFloor, kFloor)};
  print(ahead(std::move(speed)));
}

}  // namespace roombox::bench
