#include "wasm/protocol/execution.h"

#include <algorithm>
#include <array>

#include "wasm/protocol/base64.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/named.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/protocol/timestamp.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

constexpr Names<Status, 5> kStatusNames = {{
    {Status::Running, "running"},
    {Status::Completed, "completed"},
    {Status::Timeout, "timeout"},
    {Status::Cancelled, "cancelled"},
    {Status::Failed, "failed"},
}};

enum class Output { Shown, LeftOut };

/// Writes a stream's stored bytes: as text without the beginning of a character that truncation cut in two.
void write_output(JsonWriter& json, std::string_view bytes, const ExecutionView& execution) {
  if (execution.encoding == Encoding::Base64) {
    json.base64(bytes);
    return;
  }
  const bool cut = execution.truncated && bytes.size() == limits::kStoredOutput;
  if (cut) bytes.remove_suffix(utf8::incomplete_tail(bytes));
  json.string(bytes);
}

void write_exit_code(JsonWriter& json, const ExecutionView& execution) {
  execution.exit_code ? json.integer(*execution.exit_code) : json.null();
}

void write_duration(JsonWriter& json, const ExecutionView& execution) {
  execution.duration ? json.integer(execution.duration->count()) : json.null();
}

void write_finish(JsonWriter& json, const ExecutionView& execution) {
  execution.finished_at ? json.string(iso_8601(*execution.finished_at)) : json.null();
}

void write_arguments(JsonWriter& json, const ExecutionView& execution) {
  json.begin_array();
  for (std::string_view rest = execution.arguments; !rest.empty();) {
    const std::string_view argument = rest.substr(0, rest.find('\0'));
    json.string(argument);
    rest.remove_prefix(std::min(argument.size() + 1, rest.size()));
  }
  json.end_array();
}

void write_result(JsonWriter& json, const ExecutionView& execution, Output output) {
  json.begin_object();
  json.key("id").string(execution.id);
  json.key("status").string(name(execution.status));
  write_exit_code(json.key("exitCode"), execution);
  json.key("signal");
  execution.signal ? json.string(*execution.signal) : json.null();
  json.key("success").boolean(execution.status == Status::Completed && execution.exit_code == 0);
  if (output == Output::Shown) {
    write_output(json.key("stdout"), execution.out, execution);
    write_output(json.key("stderr"), execution.err, execution);
  }
  json.key("truncated").boolean(execution.truncated);
  json.key("oom").boolean(execution.oom);
  if (!execution.shell.empty()) {
    json.key("shell").string(execution.shell);
    json.key("shellExited").boolean(execution.shell_exited);
  }
  json.key("command").string(execution.command);
  if (!execution.arguments.empty()) write_arguments(json.key("args"), execution);
  write_duration(json.key("duration"), execution);
  json.key("timestamp").string(iso_8601(execution.started_at));
  write_finish(json.key("finishedAt"), execution);
  if (execution.error != nullptr) json.key("error").string(summary(*execution.error));
  json.end_object();
}

void write_rooms(JsonWriter& json, const ExecutionView& execution, std::string_view sandbox_name) {
  json.begin_object().key("result");
  write_result(json, execution, Output::Shown);
  json.key("sandboxName").string(sandbox_name).end_object();
}

void write_v1(JsonWriter& json, const ExecutionView& execution, std::string_view sandbox_name) {
  json.begin_object();
  json.key("object").string("execution");
  json.key("id").string(execution.id);
  json.key("sandbox_id").string(room_of(sandbox_name));
  json.key("status").string(name(execution.status));
  write_exit_code(json.key("exit_code"), execution);
  write_output(json.key("stdout"), execution.out, execution);
  write_output(json.key("stderr"), execution.err, execution);
  json.key("truncated").boolean(execution.truncated);
  write_duration(json.key("duration_ms"), execution);
  json.key("started_at").string(iso_8601(execution.started_at));
  write_finish(json.key("finished_at"), execution);
  json.end_object();
}

void write_sdk(JsonWriter& json, const ExecutionView& execution) {
  json.begin_object();
  json.key("running").boolean(execution.status == Status::Running);
  if (execution.exit_code) write_exit_code(json.key("exitCode"), execution);
  write_output(json.key("stdout"), execution.out, execution);
  write_output(json.key("stderr"), execution.err, execution);
  json.key("status").string(name(execution.status)).key("truncated").boolean(execution.truncated);
  if (execution.error != nullptr) json.key("error").string(summary(*execution.error));
  json.end_object();
}

/// More than names, numbers and punctuation of an answer take.
constexpr std::size_t kFrame = 400;

std::size_t written_size(std::string_view bytes, Encoding encoding) {
  return encoding == Encoding::Base64 ? base64_size(bytes.size()) : JsonWriter::escaped_size(bytes);
}

}  // namespace

std::string_view name(Status status) {
  return name_in(kStatusNames, status);
}

std::optional<Status> status_named(std::string_view wanted) {
  return value_in(kStatusNames, wanted);
}

void append_rendered(std::string& out, const ExecutionView& execution, std::string_view sandbox_name,
                     Dialect dialect) {
  // Exactly, although that takes a look at each byte: output is large, and a string that has to grow is there
  // up to three times over while it does.
  out.reserve(out.size() + rendered_size(execution, sandbox_name));
  JsonWriter json(out);
  switch (dialect) {
    case Dialect::Rooms:
      return write_rooms(json, execution, sandbox_name);
    case Dialect::V1:
      return write_v1(json, execution, sandbox_name);
    case Dialect::Sdk:
      return write_sdk(json, execution);
  }
}

std::size_t rendered_size(const ExecutionView& execution, std::string_view sandbox_name) {
  std::size_t size = kFrame;
  for (std::string_view bytes : {execution.out, execution.err}) {
    size += written_size(bytes, execution.encoding);
  }
  for (std::string_view text : {execution.id, execution.shell, execution.command, execution.arguments,
                                sandbox_name, execution.signal.value_or("")}) {
    size += JsonWriter::escaped_size(text);
  }
  return size + (execution.error != nullptr ? JsonWriter::escaped_size(summary(*execution.error)) : 0);
}

void write_session(JsonWriter& json, const ExecutionView& execution, std::string_view sandbox_name) {
  json.begin_object();
  json.key("sessionID").string(execution.id).key("execId").string(execution.id);
  json.key("sandboxID").string(room_of(sandbox_name));
  json.key("command").string(execution.command);
  write_arguments(json.key("args"), execution);
  json.key("running").boolean(execution.status == Status::Running);
  if (execution.exit_code) write_exit_code(json.key("exitCode"), execution);
  json.key("startedAt").string(iso_8601(execution.started_at));
  json.key("attachedClients").integer(static_cast<std::int64_t>(execution.attached));
  json.end_object();
}

std::string render_started(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect) {
  if (dialect != Dialect::Sdk) return render(execution, sandbox_name, dialect);
  std::string body;
  JsonWriter json(body);
  write_session(json, execution, sandbox_name);
  return body;
}

void write_listed(JsonWriter& json, const ExecutionView& execution) {
  write_result(json, execution, Output::LeftOut);
}

std::string render(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect) {
  std::string body;
  append_rendered(body, execution, sandbox_name, dialect);
  return body;
}

}  // namespace roombox
