#include "wasm/protocol/exec_request.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/text.h"

namespace roombox {
namespace {

enum Tag : std::size_t {
  kCmd,
  kCwd,
  kEnv,
  kTimeout,
  kStdin,
  kStream,
  kDetach,
  kEncoding,
  kPty,
  kMaxRun,
  kArgs,
  kSeconds,
  kMaxRunSeconds,
  kShell
};

constexpr std::array<BodyField, 11> kRoomsFields = {{
    {"cmd", kCmd, JsonKind::String, "string", Presence::Required},
    {"cwd", kCwd, JsonKind::String, "string"},
    {"env", kEnv, JsonKind::Object, "record"},
    {"timeout_ms", kTimeout, JsonKind::Number, "number"},
    {"stdin", kStdin, JsonKind::String, "string"},
    {"stream", kStream, JsonKind::Boolean, "boolean"},
    {"detach", kDetach, JsonKind::Boolean, "boolean"},
    {"encoding", kEncoding, JsonKind::String, "string", Presence::Optional, {}, messages::kEncoding},
    {"pty", kPty, JsonKind::Object, "object"},
    {"max_run_after_disconnect_ms", kMaxRun, JsonKind::Number, "number"},
    {"shell", kShell, JsonKind::String, "string"},
}};

constexpr std::array<BodyField, 5> kV1Fields = {{
    {"command", kCmd, JsonKind::String, "string", Presence::Required},
    {"timeout_ms", kTimeout, JsonKind::Number, "number"},
    {"cwd", kCwd, JsonKind::String, "string"},
    {"env", kEnv, JsonKind::Object, "record"},
    {"stream", kStream, JsonKind::Boolean, "boolean"},
}};

constexpr std::array<BodyField, 6> kSdkFields = {{
    {"cmd", kCmd, JsonKind::String, "string", Presence::Required},
    {"args", kArgs, JsonKind::Array, "array"},
    {"envs", kEnv, JsonKind::Object, "record"},
    {"cwd", kCwd, JsonKind::String, "string"},
    {"timeout", kSeconds, JsonKind::Number, "number"},
    {"maxRunAfterDisconnect", kMaxRunSeconds, JsonKind::Number, "number"},
}};

/// `[A-Za-z0-9_-]{1,32}`.
bool is_shell_name(std::string_view name) {
  const auto is_in_it = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= limits::kShellName &&
         std::all_of(name.begin(), name.end(), is_in_it);
}

/// Builds a request from the values of its body.
class ExecReader final : public BodyReader {
 public:
  ExecReader(Dialect dialect, Mode mode)
      : BodyReader(exec_fields(dialect)), dialect_(dialect), detach_(mode == Mode::Detach) {}

  ExecRequest& request() { return request_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override;
  void accept_member(const BodyField& field, std::string& name, const JsonValue& value) override;
  void end(const BodyField& field) override;
  void finish() override;

  void cmd(std::string_view field, std::string& text);
  void cwd(std::string_view field, std::string& text);
  void timeout(std::string_view field, double number);
  void stdin_text(std::string_view field, std::string& text);
  void encoding(std::string_view field, std::string_view text);
  void max_run(std::string_view field, double number);
  void argument(std::string_view field, const JsonValue& value);
  void shell(std::string_view field, std::string& name);
  void check_shell();
  void terminal_side(std::string_view field, std::string_view side, const JsonValue& value);

  ExecRequest request_;
  std::optional<std::chrono::milliseconds> timeout_;
  Dialect dialect_;
  bool stream_ = false;
  bool detach_;
  bool has_cwd_ = false;
  bool has_env_ = false;
  bool has_shell_ = false;
  std::size_t args_bytes_ = 0;
  EnvReader env_;
};

void ExecReader::accept(const BodyField& field, const JsonValue& value) {
  switch (field.tag) {
    case kCmd:
      return cmd(field.name, *value.text);
    case kCwd:
      return cwd(field.name, *value.text);
    case kTimeout:
      return timeout(field.name, value.number);
    case kStdin:
      return stdin_text(field.name, *value.text);
    case kStream:
      stream_ = value.truth;
      return;
    case kDetach:
      detach_ = value.truth;
      return;
    case kEncoding:
      return encoding(field.name, *value.text);
    case kPty:
      request_.terminal.emplace();
      return;
    case kMaxRun:
      return max_run(field.name, value.number);
    case kArgs:
      request_.args.emplace();
      return;
    case kSeconds:
      timeout_ = seconds(field.name, value.number, limits::kTimeoutMin, limits::kTimeoutMax);
      return;
    case kMaxRunSeconds:
      request_.max_run_after_disconnect =
          seconds(field.name, value.number, std::chrono::milliseconds(0), limits::kMaxRunAfterDisconnect);
      return;
    case kShell:
      return shell(field.name, *value.text);
  }
}

void ExecReader::cmd(std::string_view field, std::string& text) {
  if (text.empty()) return report().add(field, messages::kCommandEmpty);
  if (text.size() > limits::kCommand) {
    return report().add(field, messages::kStringTooBig, {std::to_string(limits::kCommand)});
  }
  if (has_nul(text)) return report().add(field, messages::kCommandNul);
  request_.cmd = std::move(text);
}

void ExecReader::cwd(std::string_view field, std::string& text) {
  has_cwd_ = true;
  if (text.size() > limits::kCwd) {
    return report().add(field, messages::kStringTooBig, {std::to_string(limits::kCwd)});
  }
  if (!text.starts_with('/')) return report().add(field, messages::kCwdNotAbsolute);
  if (has_nul(text)) return report().add(field, messages::kCwdNul);
  request_.cwd = std::move(text);
}

void ExecReader::timeout(std::string_view field, double number) {
  const auto ms = whole(field, number, limits::kTimeoutMin.count(), limits::kTimeoutMax.count());
  if (ms) timeout_ = std::chrono::milliseconds(*ms);
}

void ExecReader::stdin_text(std::string_view field, std::string& text) {
  if (text.size() > limits::kStdin) {
    return report().add(field, messages::kStringTooBig, {std::to_string(limits::kStdin)});
  }
  request_.stdin_text = std::move(text);
}

void ExecReader::encoding(std::string_view field, std::string_view text) {
  const auto named = encoding_named(text);
  if (!named) return report().add(field, messages::kEncoding);
  request_.encoding = *named;
}

void ExecReader::max_run(std::string_view field, double number) {
  const auto ms = whole(field, number, 0, limits::kMaxRunAfterDisconnect.count());
  if (ms) request_.max_run_after_disconnect = std::chrono::milliseconds(*ms);
}

void ExecReader::shell(std::string_view field, std::string& name) {
  has_shell_ = true;
  if (!is_shell_name(name)) return report().add(field, messages::kShellName);
  request_.shell = std::move(name);
}

void ExecReader::accept_member(const BodyField& field, std::string& name, const JsonValue& value) {
  if (field.tag == kPty) return terminal_side(field.name, name, value);
  if (field.tag == kArgs) return argument(field.name, value);
  env_.add(report(), field.name, name, value);
}

void ExecReader::argument(std::string_view field, const JsonValue& value) {
  const std::string place = std::to_string(request_.args->size());
  if (value.kind != JsonKind::String) {
    request_.args->emplace_back();
    return report().add(field, messages::kMemberWrongType, {"string", roombox::name(value.kind), place});
  }
  std::string& text = *value.text;
  args_bytes_ += text.size() + 1;
  if (has_nul(text)) report().add(field, messages::kArgumentNul, {place});
  if (text.size() > limits::kArgument) {
    report().add(field, messages::kArgumentTooBig, {std::to_string(limits::kArgument), place});
  }
  if (args_bytes_ > limits::kCommand && !report().mentions(field)) {
    report().add(field, messages::kArgumentsTooBig, {std::to_string(limits::kCommand)});
  }
  request_.args->push_back(std::move(text));
}

void ExecReader::terminal_side(std::string_view field, std::string_view side, const JsonValue& value) {
  const bool is_cols = side == "cols";
  if (!is_cols && side != "rows") {
    return report().add(field, messages::kUnrecognizedKey, {FieldReport::quoted(side), ""});
  }
  if (value.kind != JsonKind::Number) {
    return report().add(field, messages::kMemberWrongType, {"number", roombox::name(value.kind), side});
  }
  const auto cells = whole(field, value.number, 1, limits::kTerminalCells);
  if (cells)
    (is_cols ? request_.terminal->cols : request_.terminal->rows) = static_cast<std::uint16_t>(*cells);
}

void ExecReader::end(const BodyField& field) {
  if (field.tag != kEnv) return;
  has_env_ = true;
  request_.env = env_.end(report(), field.name);
}

/// A shell has a directory and variables of its own, which live on: what a single call brought would have to
/// be taken back after it.
void ExecReader::check_shell() {
  if (has_cwd_) report().add("cwd", messages::kCwdInShell);
  if (has_env_) report().add("env", messages::kEnvInShell);
  if (request_.terminal) report().add("pty", messages::kNotTogether, {"shell"});
}

void ExecReader::finish() {
  if (has_shell_) check_shell();
  if (stream_ && detach_) report().add("detach", messages::kNotTogether, {"stream"});
  if (request_.terminal && stream_) report().add("pty", messages::kNotTogether, {"stream"});
  if (request_.terminal && request_.stdin_text) report().add("pty", messages::kNotTogether, {"stdin"});
  detach_ |= request_.terminal.has_value();
  if (request_.max_run_after_disconnect && !detach_) {
    const bool has_detach = dialect_ == Dialect::Rooms;
    report().add(has_detach ? "max_run_after_disconnect_ms" : "maxRunAfterDisconnect",
                 has_detach ? messages::kOnlyDetached : messages::kOnlyStarted);
  }
  if (stream_) request_.mode = Mode::Stream;
  if (detach_) request_.mode = Mode::Detach;
  if (timeout_) {
    request_.timeout = timeout_;
  } else if (detach_) {
    request_.timeout.reset();
  }
}

}  // namespace

std::span<const BodyField> exec_fields(Dialect dialect) {
  switch (dialect) {
    case Dialect::V1:
      return kV1Fields;
    case Dialect::Sdk:
      return kSdkFields;
    case Dialect::Rooms:
      break;
  }
  return kRoomsFields;
}

std::string joined_arguments(const ExecRequest& request) {
  std::string joined;
  if (!request.args) return joined;
  for (const std::string& argument : *request.args) joined.append(argument).push_back('\0');
  return joined;
}

Result<ExecRequest, FieldErrors> parse_exec_request(std::string_view body, Dialect dialect, Mode mode) {
  ExecReader reader(dialect, mode);
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return std::move(reader.request());
}

}  // namespace roombox
