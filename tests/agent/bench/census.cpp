#include "tests/agent/bench/census.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "container/sys/parse.h"
#include "tests/agent/bench/server_process.h"

namespace roombox::bench {
namespace {

namespace fs = std::filesystem;

/// Where the unified hierarchy is mounted; empty if it is not.
std::string unified_mount() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, directory, type, rest;
  while (mounts >> device >> directory >> type && std::getline(mounts, rest)) {
    if (type == "cgroup2") return directory;
  }
  return {};
}

/// This process's own place in the unified hierarchy, as in `/a/b`.
std::string unified_path() {
  std::ifstream cgroups("/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

struct Process {
  char state = '?';
  uid_t uid = 0;
  pid_t parent = 0;
};

/// Empty defaults for one that has just gone.
Process look_at(const fs::path& directory) {
  Process process;
  std::ifstream status(directory / "status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "State:") words >> process.state;
    if (name == "PPid:") words >> process.parent;
    if (name == "Uid:") words >> process.uid;
  }
  return process;
}

}  // namespace

OwnCgroup::OwnCgroup() {
  const std::string mount = unified_mount();
  if (mount.empty()) return;
  parent_ = mount + unified_path();
  std::string path = parent_ + "/roombox-soak-XXXXXX";
  if (!::mkdtemp(path.data())) return;
  path_ = path;
  enter(path_);
}

OwnCgroup::~OwnCgroup() {
  if (path_.empty()) return;
  enter(parent_);
  auto directories = below();
  std::sort(directories.rbegin(), directories.rend());  // the inner before the outer
  directories.push_back(path_);
  for (const auto& directory : directories) ::rmdir(directory.c_str());
}

void OwnCgroup::enter(const std::string& directory) const {
  std::ofstream(directory + "/cgroup.procs") << 0 << std::flush;  // 0 is the writer: cgroups(7)
}

std::vector<std::string> OwnCgroup::below() const {
  std::vector<std::string> directories;
  if (path_.empty()) return directories;
  std::error_code gone;
  for (fs::recursive_directory_iterator at(path_, gone), end; !gone && at != end; at.increment(gone)) {
    if (at->is_directory(gone)) directories.push_back(at->path());
  }
  return directories;
}

Census take_census(pid_t agent, uid_t user, const OwnCgroup& cgroup) {
  Census census{};
  census.resident_kib = process_status(agent, "VmRSS");
  census.peak_kib = process_status(agent, "VmHWM");
  census.threads = process_status(agent, "Threads");
  census.cgroups = static_cast<long>(cgroup.below().size());
  const auto descriptors = fs::directory_iterator("/proc/" + std::to_string(agent) + "/fd");
  census.descriptors = std::distance(begin(descriptors), end(descriptors));
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = sys::parse<pid_t>(entry.path().filename().native());
    if (!pid || *pid == agent || *pid == ::getpid()) continue;
    const Process process = look_at(entry.path());
    const bool is_zombie = process.state == 'Z' && (process.uid == user || process.parent == agent);
    census.zombies += is_zombie ? 1 : 0;
    census.strays += !is_zombie && process.uid == user ? 1 : 0;
  }
  return census;
}

}  // namespace roombox::bench
