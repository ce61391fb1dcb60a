#include <sys/socket.h>
#include <unistd.h>

#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/text_file.h"
#include "tests/agent/bench/web_socket_client.h"

namespace roombox::bench {
namespace {

using Kind = WebSocketClient::Kind;

constexpr double kMicro = 1e6;
constexpr int kWarmUp = 10;
constexpr std::size_t kMostBulk = 32u << 20;
constexpr double kEchoGoal = 50, kBulkGoal = 100;  // us, MiB/s

/// A terminal with a command in it, which begins at a key and says when it is ready: there are servers that
/// do not show what was written before the client came.
class Terminal {
 public:
  Terminal(const Running& running, const std::string& cmd)
      : dialect_(*running.who.terminal),
        socket_(running.server.port(),
                dialect_.open(running.server.port(), Shell::Bash, "read -r key; " + cmd), dialect_.headers) {
    if (!dialect_.hello.empty()) socket_.send(Kind::Binary, dialect_.hello);
    type("\n");
    for (std::string screen; !screen.ends_with(kReady);) screen += read();
  }

  void type(std::string_view keys) {
    socket_.send(dialect_.input == TerminalDialect::Input::Text ? Kind::Text : Kind::Binary,
                 dialect_.typed(keys));
  }

  /// What comes next of its output.
  std::string_view read() {
    for (;;) {
      const auto message = socket_.read();
      if (message.kind == Kind::Close) fail("the terminal ended");
      if (message.kind == Kind::Binary && message.payload.starts_with(dialect_.output))
        return message.payload.substr(dialect_.output.size());
    }
  }

  static constexpr char kReady[] = "ready.";

 private:
  const TerminalDialect& dialect_;
  WebSocketClient socket_;
};

/// The kernel's own price: a key sent, and its echo received.
void echo(const floor::Relay& terminal) {
  char byte = 'x';
  must("send", ::send(terminal.connection(), &byte, 1, 0));
  if (must("recv", ::recv(terminal.connection(), &byte, 1, 0)) != 1) fail("the floor has no echo");
}

using Group = std::vector<const Running*>;

Group with_terminals(const Field& field) {
  Group group;
  for (const auto& running : field) {
    if (running->who.terminal) group.push_back(running.get());
  }
  return group;
}

/// Does that with each of the group; who cannot is left out from then on.
template <typename Call>
void for_each(Group& group, const std::string& row, Call&& call) {
  std::erase_if(group, [&](const Running* running) {
    try {
      call(*running);
      return false;
    } catch (const std::exception& failure) {
      if (running->who.name == kOurs) throw;
      leave_out(running->who.name + " in \"" + row + "\"", failure.what());
      return true;
    }
  });
}

void bench_echo(const Options& options, const Field& field) {
  struct Typist {
    std::string name;
    std::function<void()> echo;
    Samples times = {};
  };
  const floor::Relay bare;
  std::vector<Typist> all{{kFloor, [&bare] { echo(bare); }}};
  const auto keys = std::to_string(options.rounds + kWarmUp);
  auto group = with_terminals(field);
  for_each(group, "echo of a key", [&](const Running& running) {
    const auto terminal = std::make_shared<Terminal>(
        running, "stty raw echo; printf ready.; exec head -c " + keys + " >/dev/null");
    all.push_back({running.who.name, [terminal] {
                     terminal->type("x");
                     if (terminal->read() != "x") fail("no echo");
                   }});
  });
  for (int i = -kWarmUp; i < options.rounds; ++i) {
    for (auto& typist : all) {
      const double time = seconds_of(typist.echo);
      if (i >= 0) typist.times.add(time);
    }
  }
  Row typical{"echo of a key in a terminal", "us"}, tail{"echo of a key in a terminal, p99", "us"};
  for (const auto& typist : all) {
    typical.figures[typist.name] = figure_of(typist.times, kMicro);
    tail.figures[typist.name] = single(kMicro * typist.times.quantile(0.99));
  }
  typical.goals = {at_most(kEchoGoal)};
  print(ahead(std::move(typical)));
  print(ahead(std::move(tail)));
}

/// MiB/s of a file through a terminal, every byte of it.
double bulk_speed(const Running& running, const TextFile& file) {
  Terminal terminal(running,
                    "stty raw -echo; printf ready.; read -r key; cat " + file.path() + "; read -r key");
  std::size_t received = 0;
  const double time = seconds_of([&] {
    terminal.type("\n");
    while (received < file.size()) received += terminal.read().size();
  });
  if (received != file.size()) fail("more came than was written");
  terminal.type("\n");
  return static_cast<double>(file.size()) / (1 << 20) / time;
}

/// The same of a `cat` in a terminal that this process has opened itself.
double floor_bulk_speed(const TextFile& file) {
  std::string bytes(64u << 10, 0);
  std::size_t received = 0;
  const double time = seconds_of([&] {
    const floor::Cat cat(file.path(), floor::open_terminal());
    while (received < file.size())
      received += static_cast<std::size_t>(must("read", ::read(cat.output(), bytes.data(), bytes.size())));
  });
  return static_cast<double>(file.size()) / (1 << 20) / time;
}

void bench_bulk(const Options& options, const Field& field) {
  const TextFile file(std::min(kMostBulk, static_cast<std::size_t>(options.mebibytes) << 20));
  Row row{"output through a terminal", "MiB/s", Better::More};
  std::map<std::string, Samples> speeds;
  auto group = with_terminals(field);
  for (int i = 0; i < options.streams; ++i) {
    speeds[kFloor].add(floor_bulk_speed(file));
    for_each(group, row.name,
             [&](const Running& running) { speeds[running.who.name].add(bulk_speed(running, file)); });
  }
  row.figures[kFloor] = figure_of(speeds[kFloor]);
  for (const auto* running : group) row.figures[running->who.name] = figure_of(speeds[running->who.name]);
  row.goals = {at_least(kBulkGoal)};
  print(ahead(std::move(row)));
}

/// What a server holds more for each terminal that is open and idle.
void bench_open(const Options& options, const Field& field) {
  Row row{"per open terminal, of " + std::to_string(options.sessions), "KiB", Better::Less, "memory"};
  auto group = with_terminals(field);
  for_each(group, row.name, [&](const Running& running) {
    const Running fresh(running.who, options.programs, Shell::Bash);
    const auto open = [&] { return std::make_unique<Terminal>(fresh, "printf ready.; read -r key"); };
    std::vector<std::unique_ptr<Terminal>> terminals;
    terminals.push_back(open());  // what the first one alone takes is not of each
    const long before = process_status(fresh.server.pid(), "VmRSS");
    for (int i = 1; i < options.sessions; ++i) terminals.push_back(open());
    const long after = process_status(fresh.server.pid(), "VmRSS");
    row.figures[running.who.name] = single(static_cast<double>(after - before) / (options.sessions - 1));
    for (auto& terminal : terminals) terminal->type("\n");
  });
  print(ahead(std::move(row)));
}

}  // namespace

void bench_terminals(const Options& options, const Field& field) {
  bench_echo(options, field);
  bench_bulk(options, field);
  bench_open(options, field);
}

}  // namespace roombox::bench
