#include "container/metrics.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "container/sys/directory.h"
#include "container/sys/file.h"
#include "container/sys/parse.h"

namespace roombox {
namespace {

using Seconds = std::chrono::duration<double>;

/// Writes the format: for each metric its help and type, then its samples.
class Writer {
 public:
  enum class Type { Counter, Gauge, Histogram };
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  Writer& metric(std::string_view name, Type type, std::string_view help) {
    static constexpr std::array<std::string_view, 3> kTypes = {"counter", "gauge", "histogram"};
    name_ = name;
    for (const auto part :
         {std::string_view("# HELP "), name, std::string_view(" "), help, std::string_view("\n# TYPE "), name,
          std::string_view(" "), kTypes[static_cast<std::size_t>(type)], std::string_view("\n")})
      text_ += part;
    return *this;
  }

  template <typename Number>
  Writer& sample(Number value, Labels labels = {}, std::string_view suffix = {}) {
    (text_ += name_) += suffix;
    char separator = '{';
    for (const auto& [name, text] : labels) {
      ((text_ += std::exchange(separator, ',')) += name) += "=\"";
      append_escaped(text);
      text_ += '"';
    }
    if (labels.size() > 0) text_ += '}';
    text_ += ' ';
    append(value);
    text_ += '\n';
    return *this;
  }

  template <std::size_t Size>
  Writer& samples(const Histogram<Size>& histogram) {
    Count count = 0;
    for (std::size_t i = 0; i < Size; ++i) {
      count += histogram.counts()[i];
      sample(count, {{"le", to_text(Seconds(histogram.bounds()[i]).count())}}, "_bucket");
    }
    count += histogram.counts()[Size];
    sample(count, {{"le", "+Inf"}}, "_bucket");
    return sample(Seconds(histogram.sum()).count(), {}, "_sum").sample(count, {}, "_count");
  }

  std::string take() { return std::move(text_); }

 private:
  template <typename Number>
  static std::string to_text(Number value) {
    std::array<char, 32> digits;  // the longest double has 24
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
  }

  template <typename Number>
  void append(Number value) {
    text_ += to_text(value);
  }

  void append_escaped(std::string_view text) {
    for (const char byte : text) {
      if (byte == '\\' || byte == '"') text_ += '\\';
      byte == '\n' ? text_ += "\\n" : text_ += byte;
    }
  }

  std::string text_;
  std::string_view name_;
};

using Type = Writer::Type;

void write_executions(Writer& out, const Engine& engine) {
  const ExecutionCounters& counters = engine.counters();
  out.metric("roombox_executions_started_total", Type::Counter, "Executions that have begun.")
      .sample(counters.started);
  out.metric("roombox_executions_ended_total", Type::Counter, "Executions that have ended, by how.");
  for (const auto status : {Status::Completed, Status::Timeout, Status::Cancelled, Status::Failed})
    out.sample(counters.ended[static_cast<std::size_t>(status)], {{"status", name(status)}});
  out.metric("roombox_executions_out_of_memory_total", Type::Counter,
             "Executions that have ended for want of memory.")
      .sample(counters.out_of_memory);
  out.metric("roombox_executions_running", Type::Gauge, "Executions that run.").sample(engine.running());
  out.metric("roombox_execution_duration_seconds", Type::Histogram,
             "How long executions took that have ended.")
      .samples(counters.duration);
  out.metric("roombox_output_bytes_total", Type::Counter, "Bytes that commands wrote, by stream.");
  for (const auto stream : {Stream::Stdout, Stream::Stderr})
    out.sample(counters.output_bytes[static_cast<std::size_t>(stream)], {{"stream", name(stream)}});
  std::size_t attached = 0;
  engine.for_each_running([&](const Execution& execution) { attached += execution.attached(); });
  out.metric("roombox_attached_clients", Type::Gauge, "Clients attached to executions that run.")
      .sample(attached);
  out.metric("roombox_records_unstored", Type::Gauge, "Ended executions that are not stored elsewhere yet.")
      .sample(engine.records().size());
  out.metric("roombox_records_unstored_bytes", Type::Gauge, "Bytes of their output.")
      .sample(engine.records().bytes());
}

void write_kills(Writer& out, const KillCounters& counters) {
  out.metric("roombox_tree_death_seconds", Type::Histogram, "How long killed process trees took to be gone.")
      .samples(counters.death);
  out.metric("roombox_tree_deaths_overdue_total", Type::Counter,
             "Killed process trees of which some outlived the wait.")
      .sample(counters.overdue);
}

void write_http(Writer& out, const HttpCounters& counters) {
  static constexpr std::array<std::string_view, 6> kClasses = {"", "1xx", "2xx", "3xx", "4xx", "5xx"};
  out.metric("roombox_http_connections", Type::Gauge, "Connections to the agent.")
      .sample(counters.connections);
  out.metric("roombox_http_requests_total", Type::Counter,
             "Requests that the agent has answered, by status.");
  for (std::size_t hundreds = 1; hundreds < kClasses.size(); ++hundreds)
    out.sample(counters.answered[hundreds], {{"status", kClasses[hundreds]}});
  out.metric("roombox_http_requests_relayed_total", Type::Counter, "Requests taken to be relayed to a port.")
      .sample(counters.relayed);
}

std::uint64_t resident_bytes() {
  const auto text = sys::read_file("/proc/self/statm");  // pages: size, resident, …
  const auto begin = std::min(text.find(' '), text.size() - 1) + 1;
  const auto pages =
      sys::parse<std::uint64_t>(std::string_view(text).substr(begin, text.find(' ', begin) - begin));
  return pages.value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_descriptors() {
  auto listing = sys::Directory::open(sys::Fd(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!listing) return 0;
  std::uint64_t count = 0;
  for (auto name = listing->next(); name && !name->empty(); name = listing->next()) ++count;
  return count - 1;  // the listing's own
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)).count();
}

void write_process(Writer& out) {
  out.metric("process_resident_memory_bytes", Type::Gauge, "Resident memory of the agent.")
      .sample(resident_bytes());
  out.metric("process_open_fds", Type::Gauge, "Open file descriptors of the agent.")
      .sample(open_descriptors());
  out.metric("process_cpu_seconds_total", Type::Counter, "CPU time of the agent, of all its threads.")
      .sample(cpu_seconds());
}

}  // namespace

std::string render_metrics(const Engine& engine, const HttpCounters& http) {
  Writer out;
  out.metric("roombox_build_info", Type::Gauge, "The agent: always 1.")
      .sample(1, {{"version", ROOMBOX_VERSION}, {"boot_id", engine.boot_id()}});
  out.metric("roombox_uptime_seconds", Type::Gauge, "How long the agent has run.")
      .sample(Seconds(engine.uptime()).count());
  write_executions(out, engine);
  write_kills(out, engine.trees().counters());
  write_http(out, http);
  write_process(out);
  return out.take();
}

}  // namespace roombox
