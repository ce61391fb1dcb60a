#include "wasm/protocol/exec_request.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

enum Tag : std::size_t { kCmd, kCwd, kEnv, kTimeout, kStdin, kStream, kDetach, kEncoding, kPty, kMaxRun };

constexpr std::array<BodyField, 10> kRoomsFields = {{
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
}};

constexpr std::array<BodyField, 5> kV1Fields = {{
    {"command", kCmd, JsonKind::String, "string", Presence::Required},
    {"timeout_ms", kTimeout, JsonKind::Number, "number"},
    {"cwd", kCwd, JsonKind::String, "string"},
    {"env", kEnv, JsonKind::Object, "record"},
    {"stream", kStream, JsonKind::Boolean, "boolean"},
}};

std::span<const BodyField> fields_of(Dialect dialect) {
  return dialect == Dialect::V1 ? std::span<const BodyField>(kV1Fields) : kRoomsFields;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

/// `[A-Za-z_][A-Za-z0-9_]*`, the names that a shell can use.
bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

/// Builds a request from the values of its body.
class ExecReader final : public BodyReader {
 public:
  explicit ExecReader(Dialect dialect) : BodyReader(fields_of(dialect)) {}

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
  void variable(std::string_view field, std::string& name, const JsonValue& value);
  void terminal_side(std::string_view field, std::string_view side, const JsonValue& value);
  void end_env(std::string_view field);

  ExecRequest request_;
  std::optional<std::chrono::milliseconds> timeout_;
  bool stream_ = false;
  bool detach_ = false;
  std::size_t env_count_ = 0;
  std::size_t env_bytes_ = 0;
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

void ExecReader::accept_member(const BodyField& field, std::string& name, const JsonValue& value) {
  field.tag == kPty ? terminal_side(field.name, name, value) : variable(field.name, name, value);
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

void ExecReader::variable(std::string_view field, std::string& name, const JsonValue& value) {
  if (++env_count_ > limits::kEnvCount) return;  // `end` reports it, once
  const std::string quoted = FieldReport::quoted(name);
  if (!is_variable_name(name)) return report().add(field, messages::kEnvName, {quoted});
  if (value.kind != JsonKind::String) {
    return report().add(field, messages::kEnvWrongType, {roombox::name(value.kind), quoted});
  }
  const std::size_t entry = name.size() + 1 + value.text->size();  // NAME=value
  env_bytes_ += entry + 1;
  if (entry > limits::kEnvEntry) {
    return report().add(field, messages::kEnvEntryTooBig, {std::to_string(limits::kEnvEntry - 1), quoted});
  }
  if (has_nul(*value.text)) return report().add(field, messages::kEnvNul, {quoted});
  request_.env.push_back({std::move(name), std::move(*value.text)});
}

void ExecReader::end(const BodyField& field) {
  if (field.tag == kEnv) end_env(field.name);
}

void ExecReader::end_env(std::string_view field) {
  if (env_count_ > limits::kEnvCount) {
    report().add(field, messages::kEnvCountTooBig, {std::to_string(limits::kEnvCount)});
  }
  if (env_bytes_ > limits::kEnvBytes) {
    report().add(field, messages::kEnvBytesTooBig, {std::to_string(limits::kEnvBytes)});
  }
  std::vector<std::string_view> names;
  names.reserve(request_.env.size());
  for (const EnvVar& variable : request_.env) names.push_back(variable.name);
  std::sort(names.begin(), names.end());
  const auto same = std::adjacent_find(names.begin(), names.end());
  if (same != names.end()) {
    report().add(field, messages::kDuplicateKey, {FieldReport::quoted(*same)});
  }
}

void ExecReader::finish() {
  if (stream_ && detach_) report().add("detach", messages::kNotTogether, {"stream"});
  if (request_.terminal && stream_) report().add("pty", messages::kNotTogether, {"stream"});
  if (request_.terminal && request_.stdin_text) report().add("pty", messages::kNotTogether, {"stdin"});
  detach_ |= request_.terminal.has_value();
  if (request_.max_run_after_disconnect && !detach_) {
    report().add("max_run_after_disconnect_ms", messages::kOnlyDetached);
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

Result<ExecRequest, FieldErrors> parse_exec_request(std::string_view body, Dialect dialect) {
  ExecReader reader(dialect);
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return std::move(reader.request());
}

}  // namespace roombox
