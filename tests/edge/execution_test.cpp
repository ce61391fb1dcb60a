#include "wasm/protocol/execution.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/edge/dice.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using std::chrono::sys_days;
using std::chrono::year;

ExecutionView finished() {
  ExecutionView view;
  view.id = "exec_1";
  view.status = Status::Completed;
  view.exit_code = 0;
  view.out = "Hello from sandbox\n";
  view.command = "echo 'Hello from sandbox'";
  view.duration = 12ms;
  view.started_at = sys_days(year(2026) / 11 / 29) + 15h + 39min + 1s + 5ms;
  view.finished_at = view.started_at + 12ms;
  return view;
}

json result(const ExecutionView& view) {
  return json::parse(render(view, "sandbox-r", Dialect::Rooms), nullptr, false).value("result", json());
}

TEST(Execution, RendersTheAnswerOfAnExecCall) {
  EXPECT_EQ(render(finished(), "sandbox-room-123", Dialect::Rooms),
            R"({"result":{"id":"exec_1","status":"completed","exitCode":0,"signal":null,"success":true,)"
            R"("stdout":"Hello from sandbox\n","stderr":"","truncated":false,"oom":false,)"
            R"("command":"echo 'Hello from sandbox'","duration":12,"timestamp":"2026-11-29T15:39:01.005Z",)"
            R"("finishedAt":"2026-11-29T15:39:01.017Z"},)"
            R"("sandboxName":"sandbox-room-123"})");
}

TEST(Execution, TellsWhatBecameOfItsShell) {
  ExecutionView view = finished();
  EXPECT_FALSE(result(view).contains("shell"));
  EXPECT_FALSE(result(view).contains("shellExited"));
  view.shell = "main";
  EXPECT_EQ(result(view)["shell"], "main");
  EXPECT_EQ(result(view)["shellExited"], false);
  view.shell_exited = true;
  EXPECT_EQ(result(view)["shellExited"], true);
  EXPECT_EQ(render(view, "sandbox-r", Dialect::V1).find("shell"),
            std::string::npos);  // its page has no such field
}

TEST(Execution, SucceedsOnlyWhenCompletedWithZero) {
  ExecutionView view = finished();
  EXPECT_EQ(result(view)["success"], true);
  view.exit_code = 3;
  EXPECT_EQ(result(view)["success"], false);
  EXPECT_EQ(result(view)["exitCode"], 3);
  view.exit_code = 0;
  view.status = Status::Cancelled;
  EXPECT_EQ(result(view)["success"], false);
}

TEST(Execution, TellsHowItEnded) {
  ExecutionView view = finished();
  view.status = Status::Timeout;
  view.exit_code = 124;
  view.signal = "SIGKILL";
  view.oom = true;
  EXPECT_EQ(result(view)["status"], "timeout");
  EXPECT_EQ(result(view)["signal"], "SIGKILL");
  EXPECT_EQ(result(view)["oom"], true);
  view.status = Status::Running;
  view.exit_code.reset();
  EXPECT_EQ(result(view)["exitCode"], nullptr);
}

TEST(Execution, NamesItsStatuses) {
  EXPECT_EQ(name(Status::Running), "running");
  EXPECT_EQ(name(Status::Completed), "completed");
  EXPECT_EQ(name(Status::Timeout), "timeout");
  EXPECT_EQ(name(Status::Cancelled), "cancelled");
  EXPECT_EQ(name(Status::Failed), "failed");
}

TEST(Execution, ShowsAnyBytes) {
  ExecutionView view = finished();
  view.out = std::string_view("a\0\x1B\xFFz", 5);
  view.err = "\xC3";
  EXPECT_EQ(result(view)["stdout"], std::string("a\0\x1B\xEF\xBF\xBDz", 7));
  EXPECT_EQ(result(view)["stderr"], "\xEF\xBF\xBD");
}

TEST(Execution, LeavesOutACharacterThatTruncationCut) {
  const std::string full(limits::kStoredOutput - 2, 'a');
  const std::string cut = full + "\xE2\x82", broken = full + "a\xFF";
  ExecutionView view = finished();
  view.out = cut;
  view.err = broken;
  view.truncated = true;
  EXPECT_EQ(result(view)["truncated"], true);
  EXPECT_TRUE(result(view)["stdout"] == full);
  EXPECT_TRUE(result(view)["stderr"] ==
              full + "a\xEF\xBF\xBD");  // no part of a character, so not of a cut one
}

TEST(Execution, LeavesOutNothingOfAStreamThatWasNotCut) {
  const std::string full(limits::kStoredOutput, 'a');
  ExecutionView view = finished();
  view.out = full;
  view.err = "ends badly \xE2\x82";
  view.truncated = true;  // of stdout
  EXPECT_EQ(result(view)["stderr"], "ends badly \xEF\xBF\xBD");
}

TEST(Execution, RendersLargeOutputWhole) {
  const std::string output(1u << 20, '\n');
  ExecutionView view = finished();
  view.out = output;
  EXPECT_EQ(result(view)["stdout"], output);
}

TEST(Execution, FitsIntoItsSize) {
  const Error error = {ErrorCode::ExecutionFailed, "why\n", {}};
  Dice dice;
  for (int round = 0; round < 40; ++round) {
    ExecutionView view = finished();
    const std::string out = random_bytes(dice, dice.below(2000));
    const std::string command = random_bytes(dice, 1 + dice.below(2000));
    view.out = out;
    view.command = command;
    view.signal = "SIGVTALRM";
    view.status = Status::Completed;
    view.error = &error;
    view.encoding = round % 2 == 0 ? Encoding::Utf8 : Encoding::Base64;
    for (const Dialect dialect : {Dialect::Rooms, Dialect::V1}) {
      const std::size_t size = render(view, "sandbox-r", dialect).size();
      const std::size_t shown = dialect == Dialect::V1 ? 0 : JsonWriter::escaped_size(command);
      EXPECT_LE(size, rendered_size(view, "sandbox-r"));
      EXPECT_GE(size + 400, rendered_size(view, "sandbox-r") - JsonWriter::escaped_size(command) + shown);
    }
  }
}

TEST(Execution, DatesAsJavaScriptDoes) {
  struct Case {
    std::chrono::system_clock::time_point time;
    std::string_view text;
  };
  const Case cases[] = {
      {{}, "1970-01-01T00:00:00.000Z"},
      {sys_days(year(2000) / 2 / 29) + 23h + 59min + 59s + 999ms, "2000-02-29T23:59:59.999Z"},
      {sys_days(year(2100) / 3 / 1), "2100-03-01T00:00:00.000Z"},
      {sys_days(year(2024) / 12 / 31) + 1ms + 900us, "2024-12-31T00:00:00.001Z"},
      {sys_days(year(1969) / 12 / 31) + 23h + 30min, "1969-12-31T23:30:00.000Z"},
  };
  for (const Case& c : cases) {
    ExecutionView view = finished();
    view.started_at = c.time;
    EXPECT_EQ(result(view)["timestamp"], json(c.text));
  }
}

}  // namespace
}  // namespace roombox
