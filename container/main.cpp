#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>

#include "container/agent_api.h"
#include "container/engine.h"
#include "container/file_thread.h"
#include "container/http_server.h"
#include "container/log.h"
#include "container/privileges.h"

namespace {

using namespace roombox;

struct Options {
  std::string address = "0.0.0.0";
  unsigned short port = 8080;
  std::string user = "sandbox";
  std::string workspace = "/workspace";
  std::string shell = default_shell();
  KillMethod kill = KillMethod::Auto;
};

/// Ends the process with an exit code of 0 on SIGTERM and SIGINT, at once. As PID 1 its end is that of all in
/// the container.
class Termination {
 public:
  Termination(asio::io_context& io, Engine& engine) : signals_(io, open()), engine_(engine) {
    signals_.async_wait(asio::posix::descriptor_base::wait_read, [this](boost::system::error_code ec) {
      if (ec) return;
      engine_.kill_all();
      ::_exit(0);
    });
  }

 private:
  static int open() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  Descriptor signals_;
  Engine& engine_;
};

/// A variable of the environment that is for the agent alone, gone from it afterwards; empty where it is not
/// set.
std::string take_variable(const char* name) {
  const char* value = ::getenv(name);
  std::string taken = value ? value : "";
  ::unsetenv(name);
  return taken;
}

int serve(const Options& options) {
  const auto account = account_for(options.user, options.workspace);
  if (!account) throw std::runtime_error("commands do not run as root: name another user with --user");
  const std::string token = take_variable("ROOMBOX_AGENT_TOKEN");
  std::string boot_id = take_variable("ROOMBOX_BOOT_ID");

  asio::io_context io(1);
  Engine engine(
      io, {*account, options.workspace, options.shell, base_environment(*account, options.shell, ::environ),
           options.kill, limits::kShellIdle, std::move(boot_id)});
  FileThread files(io, *account);
  AgentApi api(engine, files, token);
  HttpServer server(
      io, options.address, options.port, [&](const HttpRequest& head) { return api.judge(head); },
      [&](auto exchange) { api.handle(std::move(exchange)); }, AgentApi::refusal);
  Termination termination(io, engine);
  const bool is_hidden = hide_from_commands() == ProcView::Own;
  drop_privileges();
  log::info("listening on " + options.address + ":" + std::to_string(server.port()) + ", boot " +
            engine.boot_id() + ", kills by " +
            (engine.trees().method() == KillMethod::Cgroup ? "cgroup" : "mark") + ", /proc shows commands " +
            (is_hidden ? "their own processes" : "all processes"));
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App cli("The Roombox agent: runs the commands of one sandbox.", "roombox-agent");
  cli.set_version_flag("--version", ROOMBOX_VERSION);
  cli.add_option("--address", options.address, "Numeric address to listen on")->capture_default_str();
  cli.add_option("--port", options.port, "Port to listen on; 0 takes a free one and logs it")
      ->capture_default_str();
  cli.add_option("--user", options.user, "Whom commands run as: a name or uid of /etc/passwd")
      ->capture_default_str();
  cli.add_option("--workspace", options.workspace, "Directory that commands start in")->capture_default_str();
  cli.add_option("--shell", options.shell, "What runs commands, as by its -c")
      ->capture_default_str()
      ->check(CLI::ExistingFile);
  const std::map<std::string, KillMethod> methods{
      {"auto", KillMethod::Auto}, {"cgroup", KillMethod::Cgroup}, {"mark", KillMethod::Mark}};
  cli.add_option(
         "--kill", options.kill,
         "How the processes of a command are found that are to be killed: by a cgroup, by a mark, or auto: "
         "by a cgroup where cgroup v2 is writable")
      ->transform(CLI::CheckedTransformer(methods).description("auto|cgroup|mark"))
      ->default_str("auto");
  CLI11_PARSE(cli, argc, argv);

  // Large strings go back to the system when they are freed: by default the threshold for that grows with
  // their size.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  try {
    prepare_signals();
    return serve(options);
  } catch (const std::exception& failure) {
    log::error(std::string("roombox-agent cannot start: ") + failure.what());
    return 1;
  }
}
