#include "container/engine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "container/limits.h"
#include "container/privileges.h"
#include "container/sys/file.h"

namespace roombox {
namespace {

template <typename Call>
auto require(const char* name, Call&& make) {
  auto value = sys::call(name, make);
  if (!value) throw std::runtime_error(value.error().text());
  return *value;
}

template <typename Value>
Value random_value() {
  Value value{};
  require("getrandom", [&] { return ::getrandom(&value, sizeof value, 0); });
  return value;
}

std::string random_boot_id() {
  std::string id;
  for (const unsigned char byte : random_value<std::array<unsigned char, 6>>()) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", byte);
    id += hex;
  }
  return id;
}

/// What a command inherits and so need not be set at each spawn.
void set_inherited_limits() {
  const rlimit no_core{0, 0};
  require("setrlimit", [&] { return ::setrlimit(RLIMIT_CORE, &no_core); });
  rlimit files{};
  require("getrlimit", [&] { return ::getrlimit(RLIMIT_NOFILE, &files); });
  files.rlim_max = std::min(files.rlim_max, limits::kOpenFiles);
  files.rlim_cur = files.rlim_max;
  require("setrlimit", [&] { return ::setrlimit(RLIMIT_NOFILE, &files); });
  bar_new_privileges();
  ::umask(022);
}

void make_workspace(const std::string& path, const Account& account) {
  if (::mkdir(path.c_str(), 0755) == 0) {
    require("chown", [&] { return ::chown(path.c_str(), account.uid, account.gid); });
  } else if (errno != EEXIST) {
    throw std::runtime_error("cannot make " + path + ": " + std::generic_category().message(errno));
  }
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool has_variable(const std::vector<std::string>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(),
                     [name](const std::string& variable) { return name_of(variable) == name; });
}

/// The base with the variables added, in place of those of the same name.
std::vector<std::string> merged(const std::vector<std::string>& base, const std::vector<EnvVar>& variables) {
  std::unordered_set<std::string_view> names;
  for (const auto& variable : variables) names.insert(variable.name);
  std::vector<std::string> environment;
  environment.reserve(base.size() + variables.size());
  for (const auto& variable : base) {
    if (!names.contains(name_of(variable))) environment.push_back(variable);
  }
  for (const auto& variable : variables) environment.push_back(variable.name + "=" + variable.value);
  return environment;
}

}  // namespace

Engine::Engine(asio::io_context& io, EngineConfig config)
    : io_(io),
      config_(std::move(config)),
      boot_id_(config_.boot_id.empty() ? random_boot_id() : config_.boot_id),
      reaper_(io),
      trees_(io, config_.kill, sys::read_file("/proc/self/gid_map"), random_value<std::uint32_t>()),
      oom_counter_(trees_.cgroup_path()),
      command_limits_(command_limits()),
      dev_null_(require("open", [] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); })),
      read_buffer_(limits::kReadChunk),
      records_(io),
      shells_(io, reaper_, trees_, config_.shell_idle) {
  if (::geteuid() != 0)
    throw std::runtime_error("it must run as root, to give each command an unprivileged user");
  set_inherited_limits();
  trees_.confine(command_limits_.processes.rlim_max, sandbox_memory() / 100 * limits::kDataPercent);
  make_workspace(config_.workspace, config_.account);
}

SpawnRequest Engine::spawn_request(const std::vector<EnvVar>& variables) const {
  SpawnRequest spawn_request;
  spawn_request.shell = config_.shell;
  spawn_request.environment = merged(config_.environment, variables);
  spawn_request.directory = config_.workspace;
  spawn_request.account = &config_.account;
  spawn_request.limits = command_limits_;
  return spawn_request;
}

SpawnRequest Engine::spawn_request(const ExecRequest& request) const {
  SpawnRequest spawn_request = this->spawn_request(request.env);
  spawn_request.arguments = request.args ? program_arguments(config_.shell, request.cmd, *request.args)
                                         : shell_arguments(config_.shell, request.cmd);
  spawn_request.terminal = request.terminal;
  if (request.terminal && !has_variable(spawn_request.environment, "TERM"))
    spawn_request.environment.emplace_back("TERM=xterm-256color");  // what its clients speak
  if (!request.cwd.empty()) spawn_request.directory = request.cwd;
  // Somebody can send input to a detached command later; nobody can to one whose caller waits for it.
  const bool has_input = request.stdin_text || request.mode == Mode::Detach;
  spawn_request.stdin_kind = has_input ? Stdin::Pipe : Stdin::Null;
  spawn_request.stdin_fd = dev_null_.get();
  return spawn_request;
}

std::shared_ptr<Execution> Engine::start(ExecRequest request, std::string id) {
  auto spawned = request.shell.empty() ? std::optional(spawn_request(request)) : std::nullopt;
  const bool is_recorded = !id.empty();
  if (!is_recorded) id = next_id();
  auto execution = std::make_shared<Execution>(
      ExecutionContext{io_, reaper_, trees_, oom_counter_, read_buffer_, counters_}, id, std::move(request));
  ++counters_.started;
  running_.emplace(id, execution);
  records_.set_running(running_.size());
  execution->when_ended([this, is_recorded](const Execution& ended) { on_end(ended.id(), is_recorded); });
  if (spawned) {
    execution->start(std::move(*spawned));
  } else {
    shells_.run(execution, [this] { return spawn_request(std::vector<EnvVar>()); });
  }
  return execution;
}

void Engine::on_end(const std::string& id, bool is_recorded) {
  const auto ended = running_.extract(id);
  if (is_recorded) records_.add(ended.mapped());
  records_.set_running(running_.size());
}

void Engine::for_each_running(const std::function<void(const Execution&)>& visit) const {
  for (const auto& [id, execution] : running_) visit(*execution);
}

std::shared_ptr<Execution> Engine::find(const std::string& id) const {
  const auto running = running_.find(id);
  return running != running_.end() ? running->second : records_.find(id);
}

void Engine::kill_all() {
  for (const auto& [id, execution] : running_) execution->kill_now();
  shells_.kill_all();
}

std::string Engine::next_id() {
  char count[17];
  std::snprintf(count, sizeof count, "%08llx", static_cast<unsigned long long>(++count_));
  return "exec_" + boot_id_ + count;
}

void prepare_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  require("sigprocmask", [&] { return ::sigprocmask(SIG_SETMASK, &all, nullptr); });
}

std::string default_shell() {
  return ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

std::vector<std::string> base_environment(const Account& account, const std::string& shell,
                                          char** environment) {
  std::vector<std::string> image{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                 "LANG=C.UTF-8"};
  std::vector<EnvVar> given;
  for (char** variable = environment; *variable; ++variable) {
    const std::string_view text(*variable);
    const auto name = name_of(text);
    if (name.starts_with("ROOMBOX_") || name.size() == text.size()) continue;
    given.push_back({std::string(name), std::string(text.substr(name.size() + 1))});
  }
  return merged(
      merged(image, given),
      {{"HOME", account.home}, {"USER", account.name}, {"LOGNAME", account.name}, {"SHELL", shell}});
}

}  // namespace roombox
