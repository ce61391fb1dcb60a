#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "container/account.h"
#include "container/counters.h"
#include "container/execution.h"
#include "container/limits.h"
#include "container/records.h"
#include "container/shells.h"

namespace roombox {

struct EngineConfig {
  Account account;        ///< Whom commands run as.
  std::string workspace;  ///< Where they start; made, and given to the account, if it is not there.
  std::string shell;      ///< What runs them; see default_shell.
  std::vector<std::string> environment;  ///< What every command gets; see base_environment.
  KillMethod kill = KillMethod::Auto;    ///< How trees are found that are to be killed.
  std::chrono::milliseconds shell_idle = limits::kShellIdle;  ///< How long an unused persistent shell lives.
  std::string boot_id = {};  ///< Names this life of the sandbox; empty for one of the engine's own.
};

/// All executions of this sandbox, from their start to their end. Lives in the io_context's thread.
class Engine {
 public:
  /// Throws std::runtime_error where this container cannot run commands as promised, with what is missing.
  Engine(asio::io_context& io, EngineConfig config);

  /// Starts a command. The engine keeps the execution until it has ended, and one that was given an id, whose
  /// record somebody keeps, until that was stored.
  /// @param id the execution's; empty for one of the engine's own
  std::shared_ptr<Execution> start(ExecRequest request, std::string id = {});

  /// Calls back with each that runs.
  void for_each_running(const std::function<void(const Execution&)>& visit) const;

  /// How many run.
  std::size_t running() const { return running_.size(); }

  /// The execution of that id, if it runs or has ended and is not stored yet; or null.
  std::shared_ptr<Execution> find(const std::string& id) const;

  Records& records() { return records_; }
  const Records& records() const { return records_; }
  asio::io_context& io() { return io_; }

  /// Kills what still runs; for the end of the process.
  void kill_all();

  /// Names this life of the sandbox; every execution id carries it.
  const std::string& boot_id() const { return boot_id_; }

  const ProcessTrees& trees() const { return trees_; }

  const ExecutionCounters& counters() const { return counters_; }

  /// How long it has been there.
  std::chrono::nanoseconds uptime() const { return std::chrono::steady_clock::now() - began_; }

 private:
  SpawnRequest spawn_request(const std::vector<EnvVar>& variables) const;
  SpawnRequest spawn_request(const ExecRequest& request) const;
  std::string next_id();
  void on_end(const std::string& id, bool is_recorded);

  asio::io_context& io_;
  EngineConfig config_;
  std::string boot_id_;
  Reaper reaper_;
  ProcessTrees trees_;
  OomCounter oom_counter_;
  CommandLimits command_limits_;
  sys::Fd dev_null_;
  std::vector<char> read_buffer_;
  Records records_;
  Shells shells_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  ExecutionCounters counters_;
  std::uint64_t count_ = 0;
  std::unordered_map<std::string, std::shared_ptr<Execution>> running_;
};

/// Blocks all signals in the calling thread, and so in all that it starts, and undoes ignored ones: what the
/// engine expects of the process that it is in. Call it first in main.
void prepare_signals();

/// /bin/bash, or /bin/sh in an image without it.
std::string default_shell();

/// The agent's own environment, which is the image's, as a command of the account gets it: HOME, USER,
/// LOGNAME and SHELL are the account's, PATH and LANG are there, and nothing whose name begins with ROOMBOX_
/// is.
std::vector<std::string> base_environment(const Account& account, const std::string& shell,
                                          char** environment);

}  // namespace roombox
