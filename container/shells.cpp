#include "container/shells.h"

#include <algorithm>

#include "container/limits.h"
#include "wasm/protocol/messages.h"

namespace roombox {

void Shells::run(const std::shared_ptr<Execution>& execution, Request request) {
  const std::string& name = execution->shell();
  if (lines_.size() >= limits::kShells && !lines_.contains(name)) {
    const auto limit = std::to_string(limits::kShells);
    return execution->refuse({ErrorCode::TooManyRequests, messages::fill(messages::kShellsFull, {limit})});
  }
  Line& line = lines_[name];
  line.request = std::move(request);
  line.waiting.push_back(execution);
  execution->when_ended([this, name](const Execution& ended) { on_end(name, ended); });
  execution->wait_for_shell();
  if (!line.running) next(name);
  sweep_later();
}

void Shells::on_end(const std::string& name, const Execution& ended) {
  const auto line = lines_.find(name);
  if (line == lines_.end()) return;
  if (line->second.running.get() == &ended) return next(name);
  std::erase_if(line->second.waiting, [&](const auto& execution) { return execution.get() == &ended; });
}

/// Gives the shell to the next in line, or lets it rest.
void Shells::next(const std::string& name) {
  Line& line = lines_[name];
  line.running.reset();
  if (line.shell && !line.shell->is_usable()) line.shell.reset();
  if (line.waiting.empty()) {
    line.idle_since = Clock::now();
    if (!line.shell) lines_.erase(name);
    return;
  }
  line.running = std::move(line.waiting.front());
  line.waiting.pop_front();
  if (!line.shell) line.shell = start_shell(name, *line.running);
  if (line.shell) line.running->start_in(line.shell);
}

/// Null, and the execution refused, where it cannot be started.
std::shared_ptr<Shell> Shells::start_shell(const std::string& name, Execution& first) {
  const auto shell = std::make_shared<Shell>(io_, reaper_, trees_);
  if (auto error = shell->start(lines_[name].request())) {
    first.refuse(std::move(*error));
    return nullptr;
  }
  shell->when_ended([this, name, ended = shell.get()] {
    const auto line = lines_.find(name);
    // Of one that runs something, that tells of the end.
    if (line != lines_.end() && line->second.shell.get() == ended && !line->second.running) next(name);
  });
  return shell;
}

void Shells::kill_all() {
  for (const auto& [name, line] : lines_) {
    if (line.shell) line.shell->kill_now();
  }
}

void Shells::sweep_later() {
  constexpr int kSweepsPerIdle = 8;
  if (lines_.empty() || std::exchange(sweeps_, true)) return;
  sweep_.expires_after(idle_ / kSweepsPerIdle);
  sweep_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled) return;
    sweeps_ = false;
    sweep();
    sweep_later();
  });
}

void Shells::sweep() {
  const auto now = Clock::now();
  std::erase_if(lines_, [&](const auto& entry) {
    const Line& line = entry.second;
    if (line.running || now - line.idle_since < idle_) return false;
    if (line.shell) line.shell->close();
    return true;
  });
}

}  // namespace roombox
