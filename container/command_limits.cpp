#include "container/command_limits.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <string>

#include "container/limits.h"
#include "container/sys/file.h"
#include "container/sys/parse.h"

namespace roombox {
namespace {

constexpr auto kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// oom_score_adj(5) of commands: the most that the kernel takes is 1000.
const std::string& command_oom_score() {
  static const std::string score = [] {
    auto own = sys::read_file("/proc/self/oom_score_adj");
    if (own.ends_with('\n')) own.pop_back();
    return std::to_string(std::min(sys::parse<int>(own).value_or(0) + limits::kOomScoreAdjustment, 1000));
  }();
  return score;
}

}  // namespace

CommandLimits limits_for_memory(std::uint64_t bytes, const CommandLimits& in_force) {
  const auto processes =
      std::clamp<rlim_t>(bytes / limits::kMemoryPerProcess, limits::kLeastProcesses, limits::kProcesses);
  const auto data = std::max<rlim_t>(bytes / 100 * limits::kDataPercent, limits::kLeastData);
  const auto most_processes = std::min(processes, in_force.processes.rlim_max);
  return {{most_processes, most_processes}, {std::min(data, in_force.data.rlim_max), in_force.data.rlim_max}};
}

CommandLimits command_limits() {
  CommandLimits in_force{{RLIM_INFINITY, RLIM_INFINITY}, {RLIM_INFINITY, RLIM_INFINITY}};
  ::getrlimit(RLIMIT_NPROC, &in_force.processes);
  ::getrlimit(RLIMIT_DATA, &in_force.data);
  return limits_for_memory(sandbox_memory(), in_force);
}

std::uint64_t sandbox_memory() {
  return std::min({parse_mem_total(sys::read_file("/proc/meminfo")),
                   parse_memory_limit(sys::read_file("/sys/fs/cgroup/memory.max")),
                   parse_memory_limit(sys::read_file("/sys/fs/cgroup/memory/memory.limit_in_bytes"))});
}

std::uint64_t parse_memory_limit(std::string_view text) {
  return sys::parse<std::uint64_t>(text.substr(0, text.find('\n'))).value_or(kUnlimited);
}

std::uint64_t parse_mem_total(std::string_view meminfo) {
  constexpr std::string_view kName = "MemTotal:";
  if (!meminfo.starts_with(kName)) return kUnlimited;
  meminfo.remove_prefix(std::min(meminfo.find_first_not_of(' ', kName.size()), meminfo.size()));
  const auto kib = sys::parse<std::uint64_t>(meminfo.substr(0, meminfo.find(' ')));
  return kib ? *kib << 10 : kUnlimited;
}

void offer_to_oom_killer(pid_t pid) {
  const auto path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto& score = command_oom_score();
  // One that has ended meanwhile needs none.
  if (file)
    static_cast<void>(!sys::call("write", [&] { return ::write(file.get(), score.data(), score.size()); }));
}

}  // namespace roombox
