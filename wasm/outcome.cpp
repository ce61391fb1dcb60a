/// What became of what the host carried out, by name, and its answer. The fields beside a name:
///
///   deleted, absent        of `destroy`: whether there was anything
///   room, created          sandbox; status: absent, starting, running or asleep; created_ms, active_ms (Unix
///                          ms), where there are such times; snapshot_ms, snapshot_bytes of the snapshot of
///                          its files, if there is one; sleep_after_ms, 0 if it never sleeps by itself;
///                          sleep_error, why it could not be put to sleep the last time. `created` is
///                          answered with 201
///   timeout_set            of `timeout`
///   token, ticket          credential; expires_ms
///   rooms                  `room` again and again, each with the fields of a room; cursor, if there are more
///   record                 those of a record (protocol/record.h)
///   records                `record` again and again, each with the fields of a record's head (of the
///   command,
///                          more than limits::kListedCommand bytes are not shown, so need not be sent);
///                          cursor
///   sessions               the same of all executions; those that are detached are shown, as the SDK lists
///   them events                 those of an ended execution's record: answered as events, after
///   Last-Event-ID attach, terminal       the same, answered as to an attached client, from the query's
///   `after` on cut                    a stream of events broke off as its sandbox died: answered with its
///   last event result                 those of a record: answered as the exec call was that it is of
///   no_execution           the room has no such execution
///   ended                  the execution has ended, or its stdin is closed
///   earlier_life           it is of an earlier life of the sandbox
///   position_lost          the events after that id are no longer kept
///   key_spent              the record of the execution that the Idempotency-Key came with is no longer kept
///   too_many_calls         of the caller or of the room, within a minute
///   too_many_executions    run in the room
///   too_many_tickets       of the room, that nobody has used
///   too_many_present       in the room
///   too_many_rooms         of the key of the caller's credential: Request::max_rooms
///   metrics                of an agent, instead of fields: its own text, answered as it is
///   no_metrics             as nothing runs
///   metrics_failed         as the agent that runs gave none
///   key_reused             the Idempotency-Key came with another body before
///   start_failed, start_timeout, restore_failed, at_capacity, hosts_invalid, lost, gone
///                          what kept a call from its answer; also a failed record's `outcome`
///   sleep_failed           of `sleep`: the room stays awake
///   crashed                a fault of the edge itself, and every other name

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "wasm/access.h"
#include "wasm/answer.h"
#include "wasm/checks.h"
#include "wasm/edge.h"
#include "wasm/execution_id.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/decimal.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/field_report.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/named.h"
#include "wasm/protocol/record.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/protocol/sse.h"
#include "wasm/protocol/timestamp.h"
#include "wasm/protocol/utf8.h"
#include "wasm/replay.h"

namespace roombox::edge {
namespace {

/// What an outcome's answer is made of.
struct Report {
  const Request& request;
  const Subject& subject;
  std::string_view name;
  std::string_view fields;
};

/// Whether a command may have run before its call failed.
enum class Ran { No, Perhaps };

/// What kept a call from its answer.
struct Failure {
  std::string_view outcome;
  ErrorCode code;
  std::string_view message;
  std::string_view retry_after;  ///< Seconds; empty where trying the same again is no advice.
  Ran ran;
  std::string_view of_calls = {};  ///< The message of a call that is no command; empty where it is the same.
};

// A cold start takes a second or less, so after a slow one it is soon worth another try; a place in a full
// house is not free so soon. A key's rooms are its owner's to delete.
constexpr std::array<Failure, 23> kFailures = {{
    {"start_failed", ErrorCode::ExecutionFailed, messages::kStartFailed, "", Ran::No,
     messages::kCallStartFailed},
    {"start_timeout", ErrorCode::Unavailable, messages::kStartTimeout, "2", Ran::No,
     messages::kCallStartTimeout},
    {"restore_failed", ErrorCode::ExecutionFailed, messages::kRestoreFailed, "", Ran::No,
     messages::kCallRestoreFailed},
    {"at_capacity", ErrorCode::Unavailable, messages::kAtCapacity, "10", Ran::No, messages::kCallAtCapacity},
    {"hosts_invalid", ErrorCode::ExecutionFailed, messages::kHostsInvalid, "", Ran::No,
     messages::kCallHostsInvalid},
    {"lost", ErrorCode::ExecutionFailed, messages::kLost, "", Ran::Perhaps, messages::kCallLost},
    {"gone", ErrorCode::Gone, messages::kGone, "", Ran::Perhaps, messages::kCallGone},
    {"slept", ErrorCode::Unavailable, messages::kSlept, "1", Ran::Perhaps},
    {"sleep_failed", ErrorCode::Unavailable, messages::kSleepFailed, "10", Ran::No},
    {"ended", ErrorCode::Conflict, messages::kEnded, "", Ran::Perhaps},
    {"earlier_life", ErrorCode::Gone, messages::kEarlierLife, "", Ran::Perhaps},
    {"position_lost", ErrorCode::Gone, messages::kPositionLost, "", Ran::Perhaps},
    {"key_spent", ErrorCode::Gone, messages::kKeySpent, "", Ran::No},
    {"no_token_key", ErrorCode::Conflict, messages::kNoTokenKey, "", Ran::No},
    {"too_many_calls", ErrorCode::TooManyRequests, messages::kTooManyCalls, "10", Ran::No},
    {"too_many_executions", ErrorCode::TooManyRequests, messages::kTooManyExecutions, "2", Ran::No},
    {"too_many_tickets", ErrorCode::TooManyRequests, messages::kTooManyTickets, "10", Ran::No},
    {"too_many_present", ErrorCode::TooManyRequests, messages::kTooManyPresent, "10", Ran::No},
    {"too_many_rooms", ErrorCode::TooManyRooms, messages::kTooManyRooms, "60", Ran::No},
    {"no_metrics", ErrorCode::Conflict, messages::kNoMetrics, "", Ran::No},
    {"metrics_failed", ErrorCode::BadGateway, messages::kMetricsFailed, "", Ran::No},
    {"key_reused", ErrorCode::Conflict, messages::kKeyReused, "", Ran::No},
    {"crashed", ErrorCode::Internal, messages::kCrashed, "", Ran::Perhaps},
}};

const Failure* find_failure(std::string_view outcome) {
  for (const Failure& row : kFailures) {
    if (row.outcome == outcome) return &row;
  }
  return nullptr;
}

/// The row of an outcome, or of one that says as little as can be.
const Failure& failure_of(std::string_view outcome, std::string_view otherwise) {
  const Failure* const found = find_failure(outcome);
  return found != nullptr ? *found : *find_failure(otherwise);
}

/// What a call that is no command can say that it left undone.
std::string_view undone(Subject::Matter matter) {
  if (matter == Subject::Matter::Files) return messages::kNoFileTouched;
  return matter == Subject::Matter::Ports ? messages::kNotRelayed : messages::kNothingDone;
}

std::string message_of(const Failure& failure, const Request& request, Subject::Matter matter) {
  const bool of_command = matter == Subject::Matter::Commands || failure.of_calls.empty();
  // The one number that a message here can have.
  if (of_command) return messages::fill(failure.message, {request.max_rooms.value_or("all its")});
  return messages::fill(failure.of_calls, {undone(matter)});
}

Answer answer_failure(const Failure& failure, const Request& request, const Subject& subject) {
  Answer answer = error_answer(failure.code, message_of(failure, request, subject.matter), subject.dialect);
  if (!failure.retry_after.empty()) answer.headers.emplace_back("Retry-After", failure.retry_after);
  return answer;
}

Answer crash(const Report& report) {
  return answer_failure(*find_failure("crashed"), report.request, report.subject);
}

/// The answer without a body.
Answer nothing() {
  return {204, {{"Cache-Control", "no-store"}}, {}};
}

// Rooms.

void write_room_id(JsonWriter& json, const Subject& subject) {
  switch (subject.dialect) {
    case Dialect::Rooms:
      json.key("sandboxName").string(subject.sandbox);
      return;
    case Dialect::V1:
      json.key("object").string("sandbox").key("id").string(room_of(subject.sandbox));
      return;
    case Dialect::Sdk:
      json.key("sandboxID").string(room_of(subject.sandbox));
      return;
  }
}

Answer answer_deletion(const Report& report) {
  const Subject& subject = report.subject;
  if (subject.sandbox.empty()) return crash(report);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  write_room_id(json, subject);
  json.key("deleted").boolean(report.name == "deleted").end_object();
  return json_answer(200, std::move(body));
}

constexpr std::array<std::string_view, 4> kRoomStatuses = {"absent", "starting", "running", "asleep"};

/// Why a room's files could not be saved. What the platform said beside that is in the worker's log.
constexpr Names<std::string_view, 3> kSleepErrors = {{
    {messages::kSaveFailed, "failed"},
    {messages::kSaveTimeout, "timeout"},
    {messages::kSaveUnsupported, "unsupported"},
}};

struct Room {
  std::string_view sandbox;
  std::string_view status = kRoomStatuses[0];
  std::optional<std::chrono::system_clock::time_point> created_at;
  std::optional<std::chrono::system_clock::time_point> active_at;
  std::optional<std::chrono::system_clock::time_point> snapshot_at;
  std::uint64_t snapshot_bytes = 0;
  std::optional<std::chrono::milliseconds> sleep_after;
  std::optional<std::string_view> sleep_error;
};

Room read_room(std::string_view fields) {
  Room room;
  FieldReader reader(fields);
  while (const auto field = reader.next()) {
    if (field->name == "sandbox") room.sandbox = field->value;
    if (field->name == "created_ms") room.created_at = parse_unix_ms(field->value);
    if (field->name == "active_ms") room.active_at = parse_unix_ms(field->value);
    if (field->name == "snapshot_ms") room.snapshot_at = parse_unix_ms(field->value);
    if (field->name == "snapshot_bytes") room.snapshot_bytes = parse_decimal(field->value).value_or(0);
    if (field->name == "sleep_after_ms") room.sleep_after = parse_ms(field->value);
    if (field->name == "sleep_error") room.sleep_error = field->value;
    if (field->name != "status") continue;
    for (std::string_view status : kRoomStatuses) {
      if (field->value == status) room.status = status;
    }
  }
  return room;
}

void write_time(JsonWriter& json, std::optional<std::chrono::system_clock::time_point> time) {
  time ? json.string(iso_8601(*time)) : json.null();
}

/// As the SDK knows sandboxes: `running` or `hibernated`.
void write_sdk_room(JsonWriter& json, const Room& room) {
  json.begin_object().key("sandboxID").string(room_of(room.sandbox));
  json.key("status").string(room.status == "asleep" ? "hibernated" : "running");
  write_time(json.key("startedAt"), room.created_at);
  write_time(json.key("lastActiveAt"), room.active_at);
  json.end_object();
}

/// How a room sleeps, and what it then wakes from.
void write_sleep(JsonWriter& json, const Room& room, Dialect dialect) {
  const bool v1 = dialect == Dialect::V1;
  json.key("snapshot");
  if (room.snapshot_at) {
    json.begin_object().key(v1 ? "created_at" : "createdAt").string(iso_8601(*room.snapshot_at));
    json.key("bytes").integer(static_cast<std::int64_t>(room.snapshot_bytes)).end_object();
  } else {
    json.null();
  }
  json.key(v1 ? "sleep_after_ms" : "sleepAfterMs");
  const auto sleep_after = room.sleep_after.value_or(std::chrono::milliseconds(0));
  sleep_after.count() > 0 ? json.integer(sleep_after.count()) : json.null();
  json.key(v1 ? "sleep_error" : "sleepError");
  room.sleep_error ? json.string(value_in(kSleepErrors, *room.sleep_error).value_or(messages::kSaveFailed))
                   : json.null();
}

void write_room(JsonWriter& json, const Room& room, Dialect dialect) {
  if (dialect == Dialect::Sdk) return write_sdk_room(json, room);
  const bool v1 = dialect == Dialect::V1;
  json.begin_object();
  if (v1) {
    json.key("object").string("sandbox").key("id").string(room_of(room.sandbox));
  } else {
    json.key("roomID").string(room_of(room.sandbox)).key("sandboxName").string(room.sandbox);
  }
  json.key("status").string(room.status);
  write_time(json.key(v1 ? "created_at" : "createdAt"), room.created_at);
  write_time(json.key(v1 ? "last_active_at" : "lastActiveAt"), room.active_at);
  write_sleep(json, room, dialect);
  json.end_object();
}

/// Whether a call is answered with an absent room too: our own look at one is, what is done to one is not.
bool may_be_absent(const Report& report) {
  return report.subject.dialect == Dialect::Rooms && report.request.method != "POST";
}

Answer answer_room(const Report& report) {
  const Dialect dialect = report.subject.dialect;
  Room room = read_room(report.fields);
  if (room.sandbox.empty()) room.sandbox = report.subject.sandbox;
  if (room.sandbox.empty()) return crash(report);
  if (room.status == "absent" && !may_be_absent(report)) {
    const auto message = dialect == Dialect::Rooms ? messages::kNoRoom : messages::kNoSandbox;
    return error_answer(ErrorCode::NotFound, messages::fill(message, {room_of(room.sandbox)}), dialect);
  }
  std::string body;
  JsonWriter json(body);
  write_room(json, room, dialect);
  return json_answer(report.name == "created" ? 201 : 200, std::move(body));
}

Answer answer_timeout_set(const Report&) {
  return nothing();
}

// Credentials.

/// One that was made: under its kind's name, with its end.
Answer answer_credential(const Report& report) {
  std::string_view credential;
  std::optional<std::chrono::system_clock::time_point> expires_at;
  FieldReader reader(report.fields);
  while (const auto field = reader.next()) {
    if (field->name == "credential") credential = field->value;
    if (field->name == "expires_ms") expires_at = parse_unix_ms(field->value);
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object().key(report.name).string(credential);
  write_time(json.key("expiresAt"), expires_at);
  json.end_object();
  return json_answer(201, std::move(body));
}

// Lists.

/// Writes a list of the fields of one name, each by `write`, and its cursor.
template <typename Write>
Answer answer_list(const Report& report, std::string_view key, std::string_view entry, Write&& write) {
  const bool v1 = report.subject.dialect == Dialect::V1;
  const bool bare = report.subject.dialect == Dialect::Sdk;  // an array, and nothing around it
  std::string body;
  JsonWriter json(body);
  if (!bare) json.begin_object();
  if (v1) json.key("object").string("list");
  if (!bare) json.key(v1 ? "data" : key);
  json.begin_array();
  std::optional<std::string_view> cursor;
  FieldReader reader(report.fields);
  while (const auto field = reader.next()) {
    if (field->name == entry) write(json, field->value);
    if (field->name == "cursor") cursor = field->value;
  }
  json.end_array();
  if (bare) return json_answer(200, std::move(body));
  json.key("cursor");
  cursor ? json.string(*cursor) : json.null();
  json.end_object();
  return json_answer(200, std::move(body));
}

Answer answer_rooms(const Report& report) {
  return answer_list(report, "rooms", "room", [&report](JsonWriter& json, std::string_view fields) {
    write_room(json, read_room(fields), report.subject.dialect);
  });
}

// Executions.

/// Why an execution failed, as its agent or its object has it.
Error error_of(const Record& record) {
  const ExecutionView execution = record.view();
  if (execution.error != nullptr) return *execution.error;
  const Failure& failure = failure_of(record.outcome(), "lost");
  return {failure.code, std::string(failure.message)};
}

Answer result_answer(int status, const Report& report, const Record& record) {
  ExecutionView execution = record.view();
  const Error error = error_of(record);
  execution.error = execution.status == Status::Failed ? &error : nullptr;
  return json_answer(status, render(execution, report.subject.sandbox, report.subject.dialect));
}

Answer answer_records(const Report& report) {
  return answer_list(report, "executions", "record", [](JsonWriter& json, std::string_view fields) {
    Record record;
    record.read(fields);
    ExecutionView execution = record.view();
    const Error error = error_of(record);
    execution.error = execution.status == Status::Failed ? &error : nullptr;
    execution.command = utf8::prefix(execution.command, limits::kListedCommand);
    write_listed(json, execution);
  });
}

Answer answer_sessions(const Report& report) {
  return answer_list(report, "sessions", "record", [&report](JsonWriter& json, std::string_view fields) {
    Record record;
    record.read(fields);
    const ExecutionView execution = record.view();
    if (execution.mode == Mode::Detach) write_session(json, execution, report.subject.sandbox);
  });
}

Answer replay(const Report& report, const Record& record, std::uint64_t after) {
  const Subject& subject = report.subject;
  Answer answer{200, {}, {}};
  const auto append = record.outcome().empty() ? append_replay : append_lost_replay;
  switch (append(answer.body, record.view(), error_of(record), subject.sandbox, subject.dialect, after)) {
    case ReplayState::Told:
      for (const auto& [name, value] : sse::kHeaders) answer.headers.emplace_back(name, value);
      return answer;
    case ReplayState::Over:
      return nothing();
    case ReplayState::Lost:
      break;
  }
  return answer_failure(*find_failure("position_lost"), report.request, subject);
}

/// What the exec call was answered with that the record is of.
Answer answer_exec(const Report& report, const Record& record) {
  const ExecutionView execution = record.view();
  const Dialect dialect = report.subject.dialect;
  if (execution.status == Status::Failed) {
    if (execution.error != nullptr) return error_answer(*execution.error, dialect);
    const Failure& failure = failure_of(record.outcome(), "lost");
    if (failure.ran == Ran::No || execution.mode == Mode::Plain)
      return answer_failure(failure, report.request, report.subject);
  }
  if (execution.mode == Mode::Stream) return replay(report, record, 0);
  if (execution.mode == Mode::Detach && dialect == Dialect::Sdk) {
    return json_answer(201, render_started(execution, report.subject.sandbox, dialect));
  }
  return result_answer(execution.mode == Mode::Detach ? 202 : 200, report, record);
}

/// Answers what is reported of one record. Damage that leaves it without an id leaves nothing to answer with.
template <typename Tell>
Answer answer_with_record(const Report& report, Tell&& tell) {
  Record record;
  record.read(report.fields);
  return record.view().id.empty() ? crash(report) : tell(record);
}

Answer answer_record(const Report& report) {
  return answer_with_record(report,
                            [&report](const Record& record) { return result_answer(200, report, record); });
}

Answer answer_events(const Report& report) {
  const std::uint64_t after = parse_decimal(report.request.last_event_id.value_or("")).value_or(0);
  return answer_with_record(report,
                            [&report, after](const Record& record) { return replay(report, record, after); });
}

Answer attached_answer(const Report& report, attach::Framing framing) {
  const auto asked = after_sequence(report.request);
  const std::uint64_t after = asked && *asked ? parse_decimal(**asked).value_or(0) : 0;
  return answer_with_record(report, [&report, framing, after](const Record& record) {
    const Subject& subject = report.subject;
    const Log log = record.outcome().empty() ? Log::Stored : Log::Lost;
    Answer answer{101, {}, {}};
    const auto state = append_attached(answer.body, record.view(), error_of(record), log, framing,
                                       subject.sandbox, subject.dialect, after);
    return state == ReplayState::Told
               ? answer
               : answer_failure(*find_failure("position_lost"), report.request, subject);
  });
}

Answer answer_attach(const Report& report) {
  return attached_answer(report, attach::Framing::Channels);
}

Answer answer_terminal(const Report& report) {
  return attached_answer(report, attach::Framing::Raw);
}

Answer answer_result(const Report& report) {
  return answer_with_record(report, [&report](const Record& record) {
    Answer answer = answer_exec(report, record);
    answer.headers.emplace_back("Idempotency-Replayed", "true");
    return answer;
  });
}

Answer answer_no_execution(const Report& report) {
  return error_answer(no_execution(report.subject.execution), report.subject.dialect);
}

Answer answer_cut(const Report& report) {
  const Failure& lost = *find_failure("lost");
  std::string event;
  sse::append_error(event, sse::kLostId, {lost.code, std::string(lost.message), {}}, report.subject.dialect);
  return answer(200, sse::kHeaders[0].second, std::move(event));
}

Answer answer_metrics(const Report& report) {
  return answer(200, agent_api::kMetricsType, std::string(report.fields));
}

/// An outcome that is no failure.
struct Row {
  std::string_view outcome;
  Answer (*answer)(const Report& report);
};

constexpr std::array<Row, 18> kRows = {{
    {"deleted", answer_deletion},
    {"absent", answer_deletion},
    {"room", answer_room},
    {"created", answer_room},
    {"timeout_set", answer_timeout_set},
    {"rooms", answer_rooms},
    {"token", answer_credential},
    {"ticket", answer_credential},
    {"record", answer_record},
    {"records", answer_records},
    {"sessions", answer_sessions},
    {"events", answer_events},
    {"result", answer_result},
    {"no_execution", answer_no_execution},
    {"attach", answer_attach},
    {"terminal", answer_terminal},
    {"cut", answer_cut},
    {"metrics", answer_metrics},
}};

Answer worded(const Request& request, std::string_view outcome) {
  const Subject subject = subject_of(request);
  const std::string_view name = outcome.substr(0, outcome.find('\n'));
  const std::string_view fields = outcome.substr(std::min(name.size() + 1, outcome.size()));
  for (const Row& row : kRows) {
    if (row.outcome == name) return row.answer({request, subject, name, fields});
  }
  return answer_failure(failure_of(name, "crashed"), request, subject);
}

}  // namespace

Answer answer_outcome(const Request& request, std::string_view outcome) {
  Answer answer = worded(request, outcome);
  append(answer.headers, cors_headers(request));
  return answer;
}

}  // namespace roombox::edge
