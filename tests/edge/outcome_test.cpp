#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/edge/decisions.h"
#include "wasm/edge.h"

namespace roombox::edge {
namespace {

Request deletion(std::string_view url) {
  Request request{};
  request.method = "DELETE";
  request.url = url;
  return request;
}

TEST(Outcome, TellsWhatADeletionDid) {
  const Request request = deletion("http://host/api/rooms/room%2D123");
  Answer answer = answer_outcome(request, "deleted");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"sandboxName":"sandbox-room-123","deleted":true})");
  EXPECT_EQ(header(answer.headers, "Content-Type"), "application/json");
  answer = answer_outcome(request, "absent");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"sandboxName":"sandbox-room-123","deleted":false})");
}

TEST(Outcome, TellsWhatKeptACommandFromItsAnswer) {
  struct Case {
    std::string_view outcome;
    int status;
    std::string_view code;
    std::string_view error;  ///< How it begins.
    bool retry;
  };
  constexpr Case kCases[] = {
      {"start_failed", 500, "execution_failed", "sandbox execution failed: the sandbox could not be started",
       false},
      {"start_timeout", 503, "unavailable", "the sandbox is still starting", true},
      {"at_capacity", 503, "unavailable", "no sandbox is free", true},
      {"lost", 500, "execution_failed", "sandbox execution failed: the sandbox stopped while the command ran",
       false},
      {"gone", 410, "gone", "the room was deleted while the command ran", false},
      {"crashed", 500, "internal", "internal error", false},
      {"", 500, "internal", "internal error", false},
      {"unheard_of", 500, "internal", "internal error", false},
  };
  for (const Case& c : kCases) {
    const Answer answer = answer_outcome(exec_call(), c.outcome);
    EXPECT_EQ(answer.status, c.status) << c.outcome;
    EXPECT_EQ(!header(answer.headers, "Retry-After").empty(), c.retry) << c.outcome;
    EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-store");
    const auto body = nlohmann::json::parse(answer.body, nullptr, false);
    EXPECT_EQ(body.value("code", ""), std::string(c.code)) << c.outcome;
    EXPECT_TRUE(body.value("error", "").starts_with(c.error)) << answer.body;
  }
}

TEST(Outcome, DeletesNoRoomWhereThePathNamesNone) {
  EXPECT_EQ(answer_outcome(deletion("/health"), "deleted").status, 500);
  EXPECT_EQ(answer_outcome(deletion("/api/rooms/-"), "deleted").status, 500);
  EXPECT_EQ(answer_outcome({}, "absent").status, 500);
}

TEST(SubjectOf, IsWhatThePathNames) {
  EXPECT_EQ(subject_of(exec_call()).sandbox, "sandbox-room-123");
  EXPECT_EQ(subject_of(deletion("/api/rooms/r")).sandbox, "sandbox-r");
  EXPECT_EQ(subject_of(deletion("/api/rooms/a%2Fb")).sandbox, "");
  EXPECT_EQ(subject_of(deletion("/")).sandbox, "");
  const Subject events = subject_of(deletion("/api/rooms/r/sandbox/executions/exec_%31a/events"));
  EXPECT_EQ(events.sandbox, "sandbox-r");
  EXPECT_EQ(events.execution, "exec_1a");
  EXPECT_EQ(events.dialect, Dialect::Rooms);
  EXPECT_EQ(subject_of(deletion("/api/rooms/r/sandbox/executions/exec_A")).execution, "");
  EXPECT_EQ(subject_of(deletion("/v1/sandboxes/r/exec")).sandbox, "sandbox-r");
  EXPECT_EQ(subject_of(deletion("/v1/sandboxes/r/exec")).dialect, Dialect::V1);
  EXPECT_EQ(subject_of(deletion("/v1")).dialect, Dialect::V1);
  EXPECT_EQ(subject_of(deletion("/v10")).dialect, Dialect::Rooms);
}

}  // namespace
}  // namespace roombox::edge
