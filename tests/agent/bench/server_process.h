#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

/// A server under test, as a child process that is there for requests. It ends with its owner.
class ServerProcess {
 public:
  /// One that takes a free port of 127.0.0.1 and logs that as part of its first line; what it logs later goes
  /// to stderr.
  /// @param command the program and its arguments
  explicit ServerProcess(const std::vector<std::string>& command);

  /// One that is told its port, and says nothing that one could wait for: it is there once it accepts
  /// connections. What it logs is dropped.
  ServerProcess(const std::vector<std::string>& command, std::uint16_t port);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }

 private:
  void end();

  pid_t pid_ = 0;
  std::uint16_t port_ = 0;
  std::thread log_;
};

/// A port of 127.0.0.1 that nobody has at the moment.
std::uint16_t free_port();

/// The agent's command line.
/// @param user whom its commands run as
/// @param port 0 for a free one that it takes and logs
std::vector<std::string> agent_command(const std::string& binary, const std::string& user = "sandbox",
                                       std::uint16_t port = 0);

/// A number of /proc/pid/status, such as that of `VmRSS`, in its unit there.
long process_status(pid_t pid, const std::string& field);

/// Has its `VmHWM`, the most that was resident, begin anew.
void begin_peak(pid_t pid);

}  // namespace roombox::bench
