#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "container/asio.h"
#include "container/execution.h"
#include "container/shell.h"

namespace roombox {

/// The persistent shells of this sandbox, by name: each runs one execution at a time, in the order in which
/// they came. Lives in the io_context's thread.
class Shells {
 public:
  /// How a shell is started.
  using Request = std::function<SpawnRequest()>;

  /// @param idle how long a shell is kept that runs nothing
  Shells(asio::io_context& io, Reaper& reaper, ProcessTrees& trees, std::chrono::milliseconds idle)
      : io_(io), reaper_(reaper), trees_(trees), idle_(idle), sweep_(io) {}

  /// Has an execution run in the shell that it names, which is started where there is none.
  void run(const std::shared_ptr<Execution>& execution, Request request);

  /// Kills what can be killed at once, without a report; for the end of the process.
  void kill_all();

 private:
  using Clock = std::chrono::steady_clock;

  struct Line {
    Request request;
    std::shared_ptr<Shell> shell;  ///< Null before the first turn, and from its end to the next turn.
    std::shared_ptr<Execution> running;
    std::deque<std::shared_ptr<Execution>> waiting;
    Clock::time_point idle_since;
  };

  void on_end(const std::string& name, const Execution& ended);
  void next(const std::string& name);
  std::shared_ptr<Shell> start_shell(const std::string& name, Execution& first);
  void sweep_later();
  void sweep();

  asio::io_context& io_;
  Reaper& reaper_;
  ProcessTrees& trees_;
  const std::chrono::milliseconds idle_;
  Timer sweep_;
  bool sweeps_ = false;
  std::unordered_map<std::string, Line> lines_;
};

}  // namespace roombox
