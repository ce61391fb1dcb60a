#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "container/engine.h"

/// An engine in the test's own process.
namespace roombox {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// An execution as it ended, copied out of the engine.
struct Ended {
  Status status = Status::Running;
  std::optional<int> exit_code;
  std::optional<std::string> signal;
  std::string out, err;
  bool truncated = false;
  bool shell_exited = false;
  std::optional<Error> error;
  std::chrono::milliseconds took{0};
};

class EngineFixture : public testing::Test {
 protected:
  EngineFixture() {
    std::string root = "/tmp/roombox-test-XXXXXX";
    if (!::mkdtemp(root.data())) throw std::runtime_error("mkdtemp");
    ::chmod(root.c_str(), 0755);
    root_ = root;
  }
  ~EngineFixture() override {
    engine_.reset();
    std::filesystem::remove_all(root_);
  }

  std::string workspace() const { return root_ + "/workspace"; }

  /// Starts a command; `ended` is filled in when it ends.
  std::shared_ptr<Execution> start(ExecRequest request, std::optional<Ended>& ended) {
    const auto began = Clock::now();
    const auto started = engine_->start(std::move(request));
    started->when_ended([&ended, began](const Execution& execution) {
      const auto view = execution.view();
      ended = Ended{view.status,
                    view.exit_code,
                    {},
                    std::string(view.out),
                    std::string(view.err),
                    view.truncated,
                    view.shell_exited,
                    execution.error(),
                    std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began)};
      if (view.signal) ended->signal = std::string(*view.signal);
    });
    return started;
  }

  template <typename Condition>
  [[nodiscard]] bool run_until(Condition done, Clock::duration limit = 20s) {
    const auto deadline = Clock::now() + limit;
    while (!done() && Clock::now() < deadline) io_.run_one_until(deadline);
    return done();
  }

  Ended run(ExecRequest request) {
    std::optional<Ended> ended;
    start(std::move(request), ended);
    EXPECT_TRUE(run_until([&] { return ended.has_value(); })) << "it did not end";
    return ended.value_or(Ended{});
  }

  std::string root_;
  asio::io_context io_{1};
  std::optional<Engine> engine_;
};

}  // namespace roombox
