#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/edge/decisions.h"
#include "wasm/edge.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/record.h"

namespace roombox::edge {
namespace {

Request deletion(std::string_view url) {
  Request request = open_call();
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

TEST(Outcome, TellsHowManyRoomsAKeyMayHave) {
  for (Request request : {exec_call(), deletion("http://host/v1/sandboxes/r/files?path=/a"),
                          deletion("http://host/api/sandboxes")}) {
    request.max_rooms = "50";
    const Answer answer = answer_outcome(request, "too_many_rooms");
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.code, "too_many_rooms");
    EXPECT_NE(answer.body.find("the key of this call has 50 rooms"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find("delete rooms"), std::string::npos) << answer.body;
    EXPECT_EQ(header(answer.headers, "Retry-After"), "60");
  }
}

TEST(Outcome, SaysThatTooManyTicketsWait) {
  Request request = open_call();
  request.url = "http://localhost/api/rooms/r/tickets";
  const Answer answer = answer_outcome(request, "too_many_tickets");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code, "too_many_requests");
  EXPECT_NE(answer.body.find("none was made"), std::string::npos) << answer.body;
  EXPECT_EQ(header(answer.headers, "Retry-After"), "10");
}

TEST(Outcome, GivesMetricsThrough) {
  Request request = open_call();
  request.method = "GET";
  request.url = "http://localhost/api/rooms/r/sandbox/metrics";
  EXPECT_EQ(expect<Ask>(decide(request)).operation, "metrics");
  const Answer answer = answer_outcome(request, "metrics\n# HELP a\na 1\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "# HELP a\na 1\n");
  EXPECT_EQ(header(answer.headers, "Content-Type"), "text/plain; version=0.0.4");
  EXPECT_EQ(answer_outcome(request, "no_metrics").status, 409);
  EXPECT_EQ(answer_outcome(request, "metrics_failed").status, 502);
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
      {"hosts_invalid", 500, "execution_failed",
       "sandbox execution failed: ALLOWED_HOSTS of this deployment has an entry that is no host", false},
      {"lost", 500, "execution_failed", "sandbox execution failed: the sandbox stopped while the command ran",
       false},
      {"gone", 410, "gone", "the room was deleted while the command ran", false},
      {"ended", 409, "conflict", "the execution has already ended", false},
      {"earlier_life", 410, "gone", "the execution ran in an earlier life", false},
      {"position_lost", 410, "gone", "there is no event of this id, or what comes after it is no longer kept",
       false},
      {"key_spent", 410, "gone", "the Idempotency-Key was used within 24 hours", false},
      {"key_reused", 409, "conflict", "the Idempotency-Key was used for another body", false},
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

TEST(Outcome, TellsWhatKeptACallAboutFilesFromItsAnswer) {
  struct Case {
    std::string_view outcome;
    int status;
    std::string_view error;  ///< How it begins.
  };
  constexpr Case kCases[] = {
      {"start_failed", 500, "the sandbox could not be started; nothing was read or changed"},
      {"start_timeout", 503, "the sandbox is still starting; nothing was read or changed"},
      {"at_capacity", 503, "no sandbox is free at the moment; nothing was read or changed"},
      {"hosts_invalid", 500,
       "ALLOWED_HOSTS of this deployment has an entry that is no host; nothing was read or changed"},
      {"lost", 500, "the sandbox stopped before the call was done"},
      {"gone", 410, "the room was deleted before the call was done"},
      {"crashed", 500, "internal error"},
  };
  for (const Case& c : kCases) {
    Request request = open_call();
    request.method = "PUT";
    request.url = "/api/rooms/r/sandbox/files/a";
    const Answer rooms = answer_outcome(request, c.outcome);
    EXPECT_EQ(rooms.status, c.status) << c.outcome;
    EXPECT_TRUE(nlohmann::json::parse(rooms.body, nullptr, false).value("error", "").starts_with(c.error))
        << rooms.body;
    request.url = "/v1/sandboxes/r/files?path=/a";
    EXPECT_NE(answer_outcome(request, c.outcome).body.find(c.error), std::string::npos) << c.outcome;
  }
}

TEST(Outcome, TellsWhatKeptACallThatIsNoCommandFromItsAnswer) {
  struct Case {
    std::string_view method;
    std::string_view url;
    std::string_view undone;
  };
  constexpr Case kCases[] = {
      {"PUT", "/api/rooms/r/sandbox/files/a", "nothing was read or changed"},
      {"PATCH", "/api/rooms/r/sandbox/ports/3000/exec", "nothing was passed on"},
      {"GET", "/api/rooms/r/sandbox/ports/3000", "nothing was passed on"},
      {"POST", "/api/rooms/r/sleep", "the call was not carried out"},
      {"POST", "/api/sandboxes/r/wake", "the call was not carried out"},
      {"POST", "/api/sandboxes", "the call was not carried out"},
  };
  for (const Case& c : kCases) {
    Request request = open_call();
    request.method = c.method;
    request.url = c.url;
    for (std::string_view outcome : {"start_failed", "start_timeout", "at_capacity", "restore_failed"}) {
      const std::string body = answer_outcome(request, outcome).body;
      EXPECT_NE(body.find("; " + std::string(c.undone) + ", try again"), std::string::npos) << body;
      EXPECT_EQ(body.find("command"), std::string::npos) << body;
    }
    for (std::string_view outcome : {"lost", "gone"}) {
      const std::string body = answer_outcome(request, outcome).body;
      EXPECT_NE(body.find(" before the call was done; "), std::string::npos) << body;
      EXPECT_EQ(body.find_first_of("<>"), std::string::npos) << body;
    }
  }
}

TEST(Outcome, TellsThatASnapshotCouldNotBeRestored) {
  Answer answer = answer_outcome(exec_call(), "restore_failed");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(
      answer.body,
      R"({"error":"sandbox execution failed: the sandbox's files could not be restored from its snapshot; the )"
      R"(command did not run, try again, or delete the room to begin anew with the image",)"
      R"("code":"execution_failed"})");
  EXPECT_EQ(header(answer.headers, "Retry-After"), "");
}

TEST(Outcome, TellsThatARoomCouldNotBePutToSleep) {
  Request request = open_call();
  request.method = "POST";
  request.url = "/api/rooms/r/sleep";
  const Answer answer = answer_outcome(request, "sleep_failed\ncause 12\nR2: /x/y/z 5");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(header(answer.headers, "Retry-After"), "10");
  EXPECT_EQ(answer.body,
            R"({"error":"the room could not be saved and stays awake; no file is lost, try again later",)"
            R"("code":"unavailable"})");
}

TEST(Outcome, DeletesNoRoomWhereThePathNamesNone) {
  EXPECT_EQ(answer_outcome(deletion("/health"), "deleted").status, 500);
  EXPECT_EQ(answer_outcome(deletion("/api/rooms/-"), "deleted").status, 500);
  EXPECT_EQ(answer_outcome({}, "absent").status, 500);
}

Request request_of(std::string_view method, std::string_view url) {
  Request request = open_call();
  request.method = method;
  request.url = url;
  return request;
}

constexpr std::string_view kV1Exec = "/v1/sandboxes/r/exec";
constexpr std::string_view kEvents = "/api/rooms/r/sandbox/executions/exec_1/events";

/// An outcome's name and the fields of a room.
std::string room(std::string_view name, std::string_view status) {
  std::string outcome = std::string(name) + "\n";
  FieldWriter(outcome)
      .text("sandbox", "sandbox-r")
      .text("status", status)
      .number("created_ms", 1'796'000'000'000)
      .number("active_ms", 1'796'000'000'001);
  return outcome;
}

ExecutionView ended() {
  using namespace std::chrono_literals;
  ExecutionView view;
  view.id = "exec_1";
  view.command = "echo a";
  view.status = Status::Completed;
  view.exit_code = 0;
  view.started_at = std::chrono::system_clock::time_point(1'796'000'000'000ms);
  view.finished_at = view.started_at + 12ms;
  view.duration = 12ms;
  view.total = 4;
  view.out = "a\n";
  view.err = "b\n";
  view.runs = "\x02\x02";
  return view;
}

std::string outcome_of(std::string_view name, const ExecutionView& view) {
  std::string outcome = std::string(name) + "\n";
  append_head(outcome, view);
  append_output(outcome, view);
  return outcome;
}

TEST(Outcome, TellsOfARoom) {
  Request request = request_of("GET", "/api/rooms/r");
  Answer answer = answer_outcome(request, room("room", "running"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"roomID":"r","sandboxName":"sandbox-r","status":"running","createdAt":"2026-11-30T00:53:20.000Z",)"
      R"("lastActiveAt":"2026-11-30T00:53:20.001Z",)"
      R"("snapshot":null,"sleepAfterMs":null,"sleepError":null})");
  answer = answer_outcome(request, "room\nstatus 6\nabsent");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"roomID":"r","sandboxName":"sandbox-r","status":"absent","createdAt":null,"lastActiveAt":null,)"
      R"("snapshot":null,"sleepAfterMs":null,"sleepError":null})");
  request = request_of("GET", "/v1/sandboxes/r");
  answer = answer_outcome(request, room("room", "asleep"));
  EXPECT_EQ(answer.body,
            R"({"object":"sandbox","id":"r","status":"asleep","created_at":"2026-11-30T00:53:20.000Z",)"
            R"("last_active_at":"2026-11-30T00:53:20.001Z",)"
            R"("snapshot":null,"sleep_after_ms":null,"sleep_error":null})");
  answer = answer_outcome(request, room("room", "absent"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, R"({"error":{"message":"not found - there is no sandbox r","type":"not_found"}})");
}

TEST(Outcome, TellsHowARoomSleeps) {
  std::string outcome = room("room", "asleep");
  FieldWriter(outcome)
      .number("snapshot_ms", 1'796'000'000'002)
      .number("snapshot_bytes", 12'345'678'901)
      .number("sleep_after_ms", 600'000)
      .text("sleep_error", "timeout");
  constexpr std::string_view kRooms =
      R"("snapshot":{"createdAt":"2026-11-30T00:53:20.002Z","bytes":12345678901},)"
      R"("sleepAfterMs":600000,"sleepError":"the snapshot took too long; the room stays awake, and it is tried again"})";
  for (const Request& request :
       {request_of("GET", "/api/rooms/r"), request_of("POST", "/api/rooms/r/sleep")}) {
    const Answer answer = answer_outcome(request, outcome);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.ends_with(kRooms)) << answer.body;
  }
  constexpr std::string_view kV1 =
      R"("snapshot":{"created_at":"2026-11-30T00:53:20.002Z","bytes":12345678901},)"
      R"("sleep_after_ms":600000,"sleep_error":"the snapshot took too long; the room stays awake, and it is tried again"})";
  const std::string v1 = answer_outcome(request_of("GET", "/v1/sandboxes/r"), outcome).body;
  EXPECT_TRUE(v1.ends_with(kV1)) << v1;
  EXPECT_EQ(answer_outcome(request_of("POST", "/api/sandboxes/r/hibernate"), outcome).body,
            R"({"sandboxID":"r","status":"hibernated","startedAt":"2026-11-30T00:53:20.000Z",)"
            R"("lastActiveAt":"2026-11-30T00:53:20.001Z"})");
  outcome = room("room", "running") + "sleep_after_ms 1\n0";
  EXPECT_TRUE(answer_outcome(request_of("GET", "/api/rooms/r"), outcome)
                  .body.ends_with(R"("snapshot":null,"sleepAfterMs":null,"sleepError":null})"));
}

TEST(Outcome, FindsNoRoomToPutToSleepOrWake) {
  struct Case {
    std::string_view url;
    std::string_view body;
  };
  constexpr Case kCases[] = {
      {"/api/rooms/r/sleep", R"({"error":"not found - there is no room r","code":"not_found"})"},
      {"/api/sandboxes/r/hibernate", R"({"error":"not found - there is no sandbox r","code":"not_found"})"},
      {"/api/sandboxes/r/wake", R"({"error":"not found - there is no sandbox r","code":"not_found"})"},
      {"/api/sandboxes/r/timeout", R"({"error":"not found - there is no sandbox r","code":"not_found"})"},
  };
  for (const Case& c : kCases) {
    const Answer answer = answer_outcome(request_of("POST", c.url), room("room", "absent"));
    EXPECT_EQ(answer.status, 404) << c.url;
    EXPECT_EQ(answer.body, c.body);
  }
  EXPECT_EQ(answer_outcome(request_of("HEAD", "/api/rooms/r"), room("room", "absent")).status, 200);
}

TEST(Outcome, SaysNothingOfATimeoutThatIsSet) {
  const Answer answer = answer_outcome(request_of("POST", "/api/sandboxes/r/timeout"), "timeout_set");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-store");
}

TEST(Outcome, TellsOfANewRoom) {
  const Request request = request_of("POST", "/v1/sandboxes");
  const Answer answer = answer_outcome(request, room("created", "running"));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body,
            R"({"object":"sandbox","id":"r","status":"running","created_at":"2026-11-30T00:53:20.000Z",)"
            R"("last_active_at":"2026-11-30T00:53:20.001Z",)"
            R"("snapshot":null,"sleep_after_ms":null,"sleep_error":null})");
  EXPECT_EQ(answer_outcome(request, "created\nstatus 7\nrunning").status, 500);
  EXPECT_EQ(
      answer_outcome(request, "start_timeout").body,
      R"({"error":{"message":"the sandbox is still starting; the call was not carried out, try again in a few )"
      R"(seconds","type":"unavailable"}})");
}

TEST(Outcome, TellsOfADeletionInV1) {
  const Request request = request_of("DELETE", "/v1/sandboxes/r");
  EXPECT_EQ(answer_outcome(request, "deleted").body, R"({"object":"sandbox","id":"r","deleted":true})");
  EXPECT_EQ(answer_outcome(request, "absent").body, R"({"object":"sandbox","id":"r","deleted":false})");
}

TEST(Outcome, ListsRooms) {
  const std::string one = room("", "running").substr(1);
  std::string outcome = "rooms\n";
  FieldWriter(outcome)
      .text("room", one)
      .text("room", "sandbox 9\nsandbox-xstatus 3\nodd")
      .text("cursor", "5.sandbox-x");
  EXPECT_EQ(
      answer_outcome(request_of("GET", "/api/rooms"), outcome).body,
      R"({"rooms":[{"roomID":"r","sandboxName":"sandbox-r","status":"running",)"
      R"("createdAt":"2026-11-30T00:53:20.000Z","lastActiveAt":"2026-11-30T00:53:20.001Z",)"
      R"("snapshot":null,"sleepAfterMs":null,"sleepError":null},)"
      R"({"roomID":"x","sandboxName":"sandbox-x","status":"absent","createdAt":null,"lastActiveAt":null,)"
      R"("snapshot":null,"sleepAfterMs":null,"sleepError":null}],)"
      R"("cursor":"5.sandbox-x"})");
  EXPECT_EQ(answer_outcome(request_of("GET", "/api/rooms"), "rooms\n").body, R"({"rooms":[],"cursor":null})");
  EXPECT_EQ(answer_outcome(request_of("GET", "/v1/sandboxes"), outcome).body,
            R"({"object":"list","data":[{"object":"sandbox","id":"r","status":"running",)"
            R"("created_at":"2026-11-30T00:53:20.000Z","last_active_at":"2026-11-30T00:53:20.001Z",)"
            R"("snapshot":null,"sleep_after_ms":null,"sleep_error":null},)"
            R"({"object":"sandbox","id":"x","status":"absent","created_at":null,"last_active_at":null,)"
            R"("snapshot":null,"sleep_after_ms":null,"sleep_error":null}],)"
            R"("cursor":"5.sandbox-x"})");
}

TEST(Outcome, ShowsARecord) {
  const Request request = request_of("GET", "/api/rooms/r/sandbox/executions/exec_1");
  const Answer answer = answer_outcome(request, outcome_of("record", ended()));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, render(ended(), "sandbox-r", Dialect::Rooms));
  EXPECT_EQ(answer_outcome(request, "record\n").status, 500) << "damaged";
}

TEST(Outcome, TellsWhyARecordedExecutionFailed) {
  const Request request = request_of("GET", "/api/rooms/r/sandbox/executions/exec_1");
  ExecutionView view = ended();
  view.status = Status::Failed;
  const auto error_in = [&](const std::string& outcome) {
    const auto body = nlohmann::json::parse(answer_outcome(request, outcome).body, nullptr, false);
    return body.value("result", nlohmann::json()).value("error", "none");
  };
  EXPECT_TRUE(
      error_in(outcome_of("record", view)).starts_with("sandbox execution failed: the sandbox stopped"));
  EXPECT_TRUE(error_in(outcome_of("record", view) + "outcome 4\ngone").starts_with("the room was deleted"));
  EXPECT_TRUE(
      error_in(outcome_of("record", view) + "outcome 3\nodd").starts_with("sandbox execution failed: "));
  const Error why = {ErrorCode::ExecutionFailed, "no such shell", {}};
  view.error = &why;
  EXPECT_EQ(error_in(outcome_of("record", view) + "outcome 4\ngone"), "no such shell");
  view.status = Status::Completed;
  EXPECT_EQ(error_in(outcome_of("record", view)), "none");
}

TEST(Outcome, ListsExecutionsWithoutTheirOutput) {
  ExecutionView view = ended();
  const std::string command = std::string(limits::kListedCommand - 1, 'x') + "é";
  view.command = command;
  std::string one;
  append_head(one, view);
  view.status = Status::Failed;
  view.command = "b";
  std::string two;
  append_head(two, view);
  std::string outcome = "records\n";
  FieldWriter(outcome).text("record", one).text("record", two).text("cursor", "17");
  const Request request = request_of("GET", "/api/rooms/r/sandbox/executions");
  const auto list = nlohmann::json::parse(answer_outcome(request, outcome).body, nullptr, false);
  EXPECT_EQ(list.value("cursor", ""), "17");
  ASSERT_EQ(list.at("executions").size(), 2u);
  EXPECT_EQ(list.at("executions")[0].at("command"), std::string(limits::kListedCommand - 1, 'x'));
  EXPECT_FALSE(list.at("executions")[0].contains("stdout"));
  EXPECT_FALSE(list.at("executions")[0].contains("stderr"));
  EXPECT_FALSE(list.at("executions")[0].contains("error"));
  EXPECT_TRUE(list.at("executions")[1].contains("error"));
  EXPECT_EQ(answer_outcome(request, "records").body, R"({"executions":[],"cursor":null})");
}

TEST(Outcome, ReplaysEvents) {
  Request request = request_of("GET", kEvents);
  Answer answer = answer_outcome(request, outcome_of("events", ended()));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header(answer.headers, "Content-Type"), "text/event-stream");
  EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-cache, no-transform");
  EXPECT_EQ(header(answer.headers, "X-Accel-Buffering"), "no");
  const std::string exit =
      "id: 6\nevent: exit\ndata: " + render(ended(), "sandbox-r", Dialect::Rooms) + "\n\n";
  const std::string err = "id: 5\nevent: stderr\ndata: {\"data\":\"b\\n\"}\n\n";
  EXPECT_EQ(answer.body,
            "id: 1\nevent: start\ndata: {\"id\":\"exec_1\",\"sandboxName\":\"sandbox-r\"}\n\n"
            "id: 3\nevent: stdout\ndata: {\"data\":\"a\\n\"}\n\n" +
                err + exit);
  request.last_event_id = "3";
  EXPECT_EQ(answer_outcome(request, outcome_of("events", ended())).body, err + exit);
  request.last_event_id = "5";
  EXPECT_EQ(answer_outcome(request, outcome_of("events", ended())).body, exit);
  request.last_event_id = "6";
  answer = answer_outcome(request, outcome_of("events", ended()));
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(header(answer.headers, "Content-Type"), "");
  request.last_event_id = "7";
  answer = answer_outcome(request, outcome_of("events", ended()));
  EXPECT_EQ(answer.status, 410);
  EXPECT_EQ(
      answer.body,
      R"({"error":"there is no event of this id, or what comes after it is no longer kept; read the events )"
      R"(from the first, or the record","code":"gone"})");
}

TEST(Outcome, AnswersAnExecOnceMore) {
  ExecutionView view = ended();
  Answer answer = answer_outcome(exec_call(), outcome_of("result", view));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, render(view, "sandbox-room-123", Dialect::Rooms));
  EXPECT_EQ(header(answer.headers, "Idempotency-Replayed"), "true");
  EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-store");
  answer = answer_outcome(request_of("POST", kV1Exec), outcome_of("result", view));
  EXPECT_EQ(answer.body, render(view, "sandbox-r", Dialect::V1));
  view.mode = Mode::Stream;
  answer = answer_outcome(request_of("POST", kV1Exec), outcome_of("result", view));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(
      answer.body.starts_with("id: 1\nevent: start\ndata: {\"id\":\"exec_1\",\"sandbox_id\":\"r\"}\n\n"));
  EXPECT_EQ(header(answer.headers, "Content-Type"), "text/event-stream");
  EXPECT_EQ(header(answer.headers, "Idempotency-Replayed"), "true");
  view.mode = Mode::Detach;
  view.status = Status::Running;
  view.exit_code.reset();
  view.finished_at.reset();
  view.duration.reset();
  answer = answer_outcome(exec_call(), outcome_of("result", view));
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.body, render(view, "sandbox-room-123", Dialect::Rooms));
}

TEST(Outcome, AnswersAFailedExecOnceMore) {
  const Error bad_cwd = invalid_request({{"cwd", "no such directory"}});
  ExecutionView view = ended();
  view.status = Status::Failed;
  for (const Mode mode : {Mode::Plain, Mode::Stream, Mode::Detach}) {
    view.mode = mode;
    view.error = &bad_cwd;  // of the agent's: the command was never started
    Answer answer = answer_outcome(exec_call(), outcome_of("result", view));
    EXPECT_EQ(answer.status, 400) << name(mode);
    EXPECT_EQ(answer.body, render(bad_cwd, Dialect::Rooms));
    view.error = nullptr;
    answer = answer_outcome(exec_call(), outcome_of("result", view) + "outcome 13\nstart_timeout");
    EXPECT_EQ(answer.status, 503) << name(mode);
    EXPECT_EQ(header(answer.headers, "Retry-After"), "2");
    EXPECT_EQ(header(answer.headers, "Idempotency-Replayed"), "true");
    answer = answer_outcome(exec_call(), outcome_of("result", view) + "outcome 4\nlost");
    EXPECT_EQ(answer.status, mode == Mode::Plain ? 500 : mode == Mode::Stream ? 200 : 202);
    EXPECT_NE(answer.body.find("the sandbox stopped while the command ran"), std::string::npos);
    EXPECT_EQ(answer.body.find("event: error\n") != std::string::npos, mode == Mode::Stream);
    EXPECT_EQ(answer.body.find("event: exit\n"), std::string::npos);
  }
}

TEST(Outcome, TellsTheEndOfALostExecutionWhereverItsReaderWas) {
  ExecutionView view = ended();
  view.status = Status::Failed;
  const std::string outcome = outcome_of("events", view) + "outcome 4\nlost";
  for (const char* after : {"", "1", "7", "123456"}) {
    Request request = request_of("GET", kEvents);
    request.last_event_id = after;
    const Answer answer = answer_outcome(request, outcome);
    EXPECT_EQ(answer.status, 200) << after;
    EXPECT_NE(answer.body.find("id: 9007199254740991\nevent: error\n"), std::string::npos) << after;
    EXPECT_EQ(answer.body.find("event: start\n") != std::string::npos, *after == 0) << after;
  }
  Request request = request_of("GET", kEvents);
  request.last_event_id = "9007199254740991";
  EXPECT_EQ(answer_outcome(request, outcome).status, 204);
  EXPECT_NE(answer_outcome(request, outcome_of("record", view) + "outcome 4\nlost")
                .body.find(R"("truncated":true)"),
            std::string::npos);
}

/// The messages that an answer of 101 is to say.
std::vector<std::string> messages_of(const Answer& answer) {
  std::vector<std::string> all;
  FieldReader fields(answer.body);
  while (const auto field = fields.next())
    all.push_back(std::string(field->name) + " " + std::string(field->value));
  EXPECT_FALSE(fields.damaged());
  return all;
}

constexpr std::string_view kAttach = "/api/rooms/room-123/sandbox/executions/exec_1/attach";

TEST(Outcome, TellsAnAttachedClientOfAnEndedExecution) {
  ExecutionView view = ended();
  view.out = "out";
  view.err = "er";
  view.total = 5;
  Runs runs;
  runs.add(Stream::Stderr, 1);
  runs.add(Stream::Stdout, 3);
  runs.add(Stream::Stderr, 1);
  const std::string encoded = runs.encoded();
  view.runs = encoded;
  view.exit_code = 3;
  using namespace std::string_literals;
  const auto start = [](int sequence) {
    return "text {\"type\":\"start\",\"id\":\"exec_1\",\"sandboxName\":\"sandbox-room-123\",\"sequence\":" +
           std::to_string(sequence) + "}";
  };
  const std::vector<std::string> end = {"binary \4", "binary \3\0\0\0\3"s, "close 1000 "};
  const auto told = [&](const std::string& query) {
    return messages_of(
        answer_outcome(request_of("GET", std::string(kAttach) + query), outcome_of("attach", view)));
  };
  std::vector<std::string> all = {start(1), "binary \2e", "binary \1out", "binary \2r"};
  all.insert(all.end(), end.begin(), end.end());
  EXPECT_EQ(told(""), all);
  EXPECT_EQ(told("?after=1"), all);
  all = {start(3), "binary \1ut", "binary \2r"};
  all.insert(all.end(), end.begin(), end.end());
  EXPECT_EQ(told("?after=3"), all);
  all = {start(6)};
  all.insert(all.end(), end.begin(), end.end());
  EXPECT_EQ(told("?after=6"), all);
  EXPECT_EQ(answer_outcome(request_of("GET", std::string(kAttach) + "?after=99"), outcome_of("attach", view))
                .status,
            410);
}

TEST(Outcome, TellsAnAttachedClientOfNoExitThatThereWasNot) {
  ExecutionView view = ended();
  view.status = Status::Failed;
  view.exit_code.reset();
  const auto told =
      messages_of(answer_outcome(request_of("GET", kAttach), outcome_of("attach", view) + "outcome 4\nlost"));
  EXPECT_EQ(told.at(told.size() - 2), "binary \4");
  EXPECT_TRUE(told.back().starts_with("close 1011 sandbox execution failed: the sandbox stopped"))
      << told.back();
  EXPECT_LE(told.back().size(), std::string_view("close 1011 ").size() + 123);
}

TEST(Outcome, EndsAStreamThatBrokeOff) {
  const Answer answer = answer_outcome(exec_call(), "cut");
  EXPECT_EQ(header(answer.headers, "Content-Type"), "text/event-stream");
  EXPECT_TRUE(
      answer.body.starts_with("id: 9007199254740991\nevent: error\ndata: {\"error\":\"sandbox execution"));
  EXPECT_TRUE(answer.body.ends_with("}\n\n"));
}

TEST(Outcome, NamesTheExecutionThatThereIsNot) {
  const Answer answer = answer_outcome(request_of("GET", kEvents), "no_execution");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, R"({"error":"not found - the room has no execution exec_1","code":"not_found"})");
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
