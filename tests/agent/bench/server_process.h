#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// A server under test, as a child process. It takes a free port of 127.0.0.1 and logs that as part of its
/// first line; what it logs later goes to stderr. It ends with its owner.
class ServerProcess {
 public:
  /// @param command the program and its arguments
  explicit ServerProcess(const std::vector<std::string>& command);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }

 private:
  pid_t pid_ = 0;
  std::uint16_t port_ = 0;
  std::thread log_;
};

/// The agent's command line. @param user whom its commands run as
std::vector<std::string> agent_command(const std::string& binary, const std::string& user = "sandbox");

/// A number of /proc/pid/status, such as that of `VmRSS`, in its unit there.
long process_status(pid_t pid, const std::string& field);

}  // namespace roombox::bench
