#include "container/oom_counter.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>

namespace roombox {
namespace {

/// The first that is there and has the count tells it.
constexpr std::array kSources = {
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
    "/proc/vmstat",
};

std::optional<std::uint64_t> read_count(const sys::Fd& file) {
  std::array<char, 16384> text;  // vmstat is some 5 KB
  const auto size = ::pread(file.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  return parse_oom_kills({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace

OomCounter::OomCounter(const std::string& cgroup) {
  if (!cgroup.empty() && open(cgroup + "/memory.events")) return;
  for (const char* path : kSources) {
    if (open(path)) return;
  }
}

/// False where the file is not there or has no count.
bool OomCounter::open(const std::string& path) {
  sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || !read_count(file)) return false;
  file_ = std::move(file);
  return true;
}

std::uint64_t OomCounter::count() const {
  return file_ ? read_count(file_).value_or(0) : 0;
}

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) {
  constexpr std::string_view kName = "oom_kill ";
  auto at = text.find(kName);
  while (at != text.npos && at > 0 && text[at - 1] != '\n') at = text.find(kName, at + 1);
  if (at == text.npos) return std::nullopt;
  std::uint64_t count = 0;
  const char* begin = text.data() + at + kName.size();
  if (std::from_chars(begin, text.data() + text.size(), count).ec != std::errc{}) return std::nullopt;
  return count;
}

}  // namespace roombox
