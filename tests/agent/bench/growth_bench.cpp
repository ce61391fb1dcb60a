#include "tests/agent/bench/bench.h"
#include "tests/agent/bench/connection.h"
#include "tests/agent/bench/floor.h"
#include "tests/agent/bench/load.h"
#include "tests/agent/bench/stream_reader.h"
#include "tests/agent/bench/text_file.h"

namespace roombox::bench {
namespace {

/// In each row of a series, the figure of that which all others are held to.
constexpr char kFirst[] = "first";
constexpr int kAtOnce = 8, kRounds = 200, kTurns = 3;
constexpr int kMostOfFile = 64 << 10;  ///< KiB.
constexpr double kMilli = 1000;
constexpr double kLong = 64;       ///< MiB from which on an output's command does not count in its time.
constexpr double kFlat = 1.25;     ///< What is to stay as it is may be so much more, by chance.
constexpr double kMoreMemory = 4;  ///< MiB.

Running start_ours(const Options& options) {
  return Running(contenders().front(), options.programs, Shell::Sh);
}

/// Prints the next point of a line that is to be flat; its goal is about the first of them.
void print_point(Row row, const Figure& figure, std::optional<Figure>& first) {
  if (first) row.goals.push_back(at_most(kFlat, kFirst));
  if (!first) first = figure;
  row.section = "growth";
  row.figures = {{kOurs, figure}, {kFirst, *first}};
  print(row);
}

/// An execution's time at one point of an agent's life, beside the floor's at that moment.
struct Moment {
  Samples ours, floor;
};

Moment take_moment(const Running& ours) {
  Load alone(ours.server.port(), 1, ours.who.request(Shell::Sh, "true"), holds(ours.who.exit_0));
  Moment moment;
  for (int i = 0; i < kRounds; ++i) {
    moment.floor.add(seconds_of([] { floor::run(Shell::Sh, "true"); }));
    moment.ours.add(seconds_of([&] { alone.run(1); }));
  }
  return moment;
}

/// The first time is put as what it would be at the floor's price of now: the points of a life are minutes
/// apart, and the machine does other things meanwhile.
void print_time(int life, const Moment& moment, const Moment& first) {
  const double dearer = moment.floor.median() / first.floor.median();
  Row row{"true, after " + std::to_string(life) + " executions, sh", "ms", Better::Less, "growth"};
  row.series = "time of an execution, by how many there were";
  row.x = life;
  row.figures = {{kOurs, figure_of(moment.ours, kMilli)},
                 {kFloor, figure_of(moment.floor, kMilli)},
                 {kFirst, figure_of(first.ours, kMilli * dearer)}};
  if (&moment != &first) row.goals = {at_most(kFlat, kFirst)};
  print(row);
}

void bench_lives(const Options& options) {
  const auto ours = start_ours(options);
  Load many(ours.server.port(), kAtOnce, ours.who.request(Shell::Sh, "true"), holds(ours.who.exit_0));
  std::optional<Moment> first;
  std::optional<Figure> first_memory;
  int executed = 0;
  for (const int life : options.lives) {
    if (life > executed) many.run(life - executed);
    const auto moment = take_moment(ours);
    executed = life + kRounds;
    print_time(life, moment, first ? *first : moment);
    if (!first) first = moment;
    Row memory{"resident, after " + std::to_string(life) + " executions", "KiB"};
    memory.series = "memory of the agent, by how many executions there were";
    memory.x = life;
    print_point(memory, single(static_cast<double>(process_status(ours.server.pid(), "VmRSS"))),
                first_memory);
  }
}

/// Seconds to the last byte of a file that a command writes that many times, as events.
double time_output(const Running& ours, const TextFile& file, int times) {
  std::string cmd = "cat";
  for (int i = 0; i < times; ++i) cmd += " " + file.path();
  StreamReader reader;
  const double time = seconds_of([&] {
    const Fd socket = connect_to(ours.server.port());
    send_all(socket.get(), ours.who.stream(Shell::Sh, cmd));
    reader.read(socket.get());
  });
  check_events(reader.last(), static_cast<std::size_t>(times) * file.size());
  return time;
}

/// From an output that is long enough for its command not to count, time is to grow no faster than it; memory
/// is to grow by no more than what is kept of an output's end.
void bench_outputs(const Options& options) {
  std::optional<Figure> first;
  for (const int kibibytes : options.outputs) {
    const int at_once = std::min(kibibytes, kMostOfFile);
    const TextFile file(static_cast<std::size_t>(at_once) << 10);
    const auto ours = start_ours(options);
    time_output(ours, file, 1);
    const long idle = process_status(ours.server.pid(), "VmRSS");
    begin_peak(ours.server.pid());
    Samples times;
    for (int i = 0; i < kTurns; ++i) times.add(time_output(ours, file, kibibytes / at_once));
    const double peak = static_cast<double>(process_status(ours.server.pid(), "VmHWM") - idle) / 1024;

    const auto name = std::to_string(kibibytes) + " KiB of output, sh: ";
    const double mebibytes = kibibytes / 1024.0;
    Row whole{name + "to its last byte", "ms", Better::Less, "growth", {{kOurs, figure_of(times, kMilli)}}};
    whole.series = "time to the last byte, by MiB of output";
    whole.x = mebibytes;
    print(whole);
    if (mebibytes >= kLong) {
      Row each{name + "each MiB", "ms"};
      each.series = "time for each MiB, by MiB of output";
      each.x = mebibytes;
      print_point(each, figure_of(times, kMilli / mebibytes), first);
    }
    Row memory{name + "memory, more at most", "MiB", Better::Less, "growth", {{kOurs, single(peak)}}};
    memory.goals = {at_most(kMoreMemory)};
    memory.series = "most of the agent's memory, by MiB of output";
    memory.x = mebibytes;
    print(memory);
  }
}

}  // namespace

void bench_growth(const Options& options) {
  bench_lives(options);
  bench_outputs(options);
}

}  // namespace roombox::bench
