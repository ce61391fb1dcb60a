#include "wasm/protocol/exec_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "wasm/protocol/field_report.h"
#include "wasm/protocol/json_reader.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/near_name.h"

namespace roombox {
namespace {

enum class Presence { Optional, Required };

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

/// Builds a request from the values of its body. A value with the wrong type is reported and passed over.
class ExecReader final : public JsonHandler {
 public:
  void value(const JsonValue& value) override;
  void key(std::string& name) override;
  void close() override;

  /// The request, or what was wrong with its fields. Once, after the whole body.
  Result<ExecRequest, FieldErrors> finish();

 private:
  /// What the body's object may hold. A scalar's value goes to `accept`; a record's members go there one by
  /// one, their names in `member_`, and `end` follows the last.
  struct Field {
    std::string_view name;
    JsonKind kind;
    std::string_view expected;  ///< The kind in zod's words.
    Presence presence;
    void (ExecReader::*accept)(const JsonValue&);
    void (ExecReader::*end)();
  };
  static constexpr std::size_t kFieldCount = 4;
  static const std::array<Field, kFieldCount> kFields;

  /// Levels of arrays and objects that a value is inside of.
  enum Level : std::size_t { kDocument, kBody, kMember };

  void document(const JsonValue& value);
  void field(const JsonValue& value);
  void report_unknown(const std::string& name);

  void cmd(const JsonValue& value);
  void cwd(const JsonValue& value);
  void timeout(const JsonValue& value);
  void env_member(const JsonValue& value);
  void env_end();

  ExecRequest request_;
  FieldReport report_;
  std::size_t level_ = kDocument;
  std::array<bool, kFieldCount> seen_{};
  bool is_object_ = false;
  const Field* field_ = nullptr;  ///< Of the current member of the body; none if unknown or met before.
  bool in_record_ = false;        ///< Inside the value of `field_`, which is a record.
  std::string member_;            ///< Name of the current member of the record.
  std::size_t env_count_ = 0;
  std::size_t env_bytes_ = 0;
};

constexpr std::array<ExecReader::Field, ExecReader::kFieldCount> ExecReader::kFields = {{
    {"cmd", JsonKind::String, "string", Presence::Required, &ExecReader::cmd, nullptr},
    {"cwd", JsonKind::String, "string", Presence::Optional, &ExecReader::cwd, nullptr},
    {"env", JsonKind::Object, "record", Presence::Optional, &ExecReader::env_member, &ExecReader::env_end},
    {"timeout_ms", JsonKind::Number, "number", Presence::Optional, &ExecReader::timeout, nullptr},
}};

/// What other systems call our fields, lower case without `_` and `-`.
constexpr std::array<Alias, 14> kAliases = {{
    {"command", "cmd"},
    {"script", "cmd"},
    {"run", "cmd"},
    {"dir", "cwd"},
    {"directory", "cwd"},
    {"workdir", "cwd"},
    {"workingdir", "cwd"},
    {"workingdirectory", "cwd"},
    {"envs", "env"},
    {"environment", "env"},
    {"variables", "env"},
    {"timeout", "timeout_ms"},
    {"timeoutseconds", "timeout_ms"},
    {"maxtime", "timeout_ms"},
}};

void ExecReader::value(const JsonValue& value) {
  if (level_ == kDocument) document(value);
  if (level_ == kBody && field_ != nullptr) field(value);
  if (level_ == kMember && in_record_) (this->*field_->accept)(value);
  if (value.kind == JsonKind::Array || value.kind == JsonKind::Object) ++level_;
}

void ExecReader::key(std::string& name) {
  if (level_ == kMember && in_record_) member_ = std::move(name);
  if (level_ != kBody) return;
  const auto found =
      std::find_if(kFields.begin(), kFields.end(), [&](const Field& f) { return f.name == name; });
  field_ = nullptr;
  if (found == kFields.end()) return report_unknown(name);
  if (std::exchange(seen_[static_cast<std::size_t>(found - kFields.begin())], true)) {
    return report_.add(name, messages::kDuplicateKey, {name});
  }
  field_ = &*found;
}

void ExecReader::close() {
  --level_;
  if (level_ != kBody || !in_record_) return;
  in_record_ = false;
  (this->*field_->end)();
}

Result<ExecRequest, FieldErrors> ExecReader::finish() {
  for (std::size_t index = 0; is_object_ && index < kFieldCount; ++index) {
    const Field& field = kFields[index];
    if (seen_[index] || field.presence == Presence::Optional) continue;
    report_.add(field.name, messages::kWrongType, {field.expected, "undefined"});
  }
  if (!report_.empty()) return report_.take();
  return std::move(request_);
}

void ExecReader::document(const JsonValue& value) {
  is_object_ = value.kind == JsonKind::Object;
  if (!is_object_) report_.add("body", messages::kWrongType, {"object", name(value.kind)});
}

void ExecReader::field(const JsonValue& value) {
  if (value.kind != field_->kind) {
    report_.add(field_->name, messages::kWrongType, {field_->expected, name(value.kind)});
  } else if (value.kind == JsonKind::Object) {
    in_record_ = true;
  } else {
    (this->*field_->accept)(value);
  }
}

void ExecReader::report_unknown(const std::string& name) {
  const std::string quoted = FieldReport::quoted(name);
  if (report_.mentions(quoted)) return;
  std::array<std::string_view, kFieldCount> names;
  std::transform(kFields.begin(), kFields.end(), names.begin(),
                 [](const Field& field) { return field.name; });
  const std::string_view near = nearest_name(name, names, kAliases);
  const std::string hint = near.empty() ? std::string() : messages::fill(messages::kDidYouMean, {near});
  report_.add(quoted, messages::kUnrecognizedKey, {quoted, hint});
}

void ExecReader::cmd(const JsonValue& value) {
  if (value.text->empty()) return report_.add("cmd", messages::kCommandEmpty);
  if (value.text->size() > limits::kCommand) {
    return report_.add("cmd", messages::kStringTooBig, {std::to_string(limits::kCommand)});
  }
  if (has_nul(*value.text)) return report_.add("cmd", messages::kCommandNul);
  request_.cmd = std::move(*value.text);
}

void ExecReader::cwd(const JsonValue& value) {
  if (value.text->size() > limits::kCwd) {
    return report_.add("cwd", messages::kStringTooBig, {std::to_string(limits::kCwd)});
  }
  if (!value.text->starts_with('/')) return report_.add("cwd", messages::kCwdNotAbsolute);
  if (has_nul(*value.text)) return report_.add("cwd", messages::kCwdNul);
  request_.cwd = std::move(*value.text);
}

void ExecReader::timeout(const JsonValue& value) {
  constexpr auto kMin = limits::kTimeoutMin.count();
  constexpr auto kMax = limits::kTimeoutMax.count();
  if (std::trunc(value.number) != value.number) {
    report_.add("timeout_ms", messages::kWrongType, {"int", "number"});
  } else if (value.number < static_cast<double>(kMin)) {
    report_.add("timeout_ms", messages::kNumberTooSmall, {std::to_string(kMin)});
  } else if (value.number > static_cast<double>(kMax)) {
    report_.add("timeout_ms", messages::kNumberTooBig, {std::to_string(kMax)});
  } else {
    request_.timeout = std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(value.number));
  }
}

void ExecReader::env_member(const JsonValue& value) {
  if (++env_count_ > limits::kEnvCount) return;  // env_end reports it, once
  const std::string quoted = FieldReport::quoted(member_);
  if (!is_variable_name(member_)) return report_.add("env", messages::kEnvName, {quoted});
  if (value.kind != JsonKind::String) {
    return report_.add("env", messages::kEnvWrongType, {name(value.kind), quoted});
  }
  const std::size_t entry = member_.size() + 1 + value.text->size();  // NAME=value
  env_bytes_ += entry + 1;
  if (entry > limits::kEnvEntry) {
    return report_.add("env", messages::kEnvEntryTooBig, {std::to_string(limits::kEnvEntry - 1), quoted});
  }
  if (has_nul(*value.text)) return report_.add("env", messages::kEnvNul, {quoted});
  request_.env.push_back({std::move(member_), std::move(*value.text)});
}

void ExecReader::env_end() {
  if (env_count_ > limits::kEnvCount) {
    report_.add("env", messages::kEnvCountTooBig, {std::to_string(limits::kEnvCount)});
  }
  if (env_bytes_ > limits::kEnvBytes) {
    report_.add("env", messages::kEnvBytesTooBig, {std::to_string(limits::kEnvBytes)});
  }
  std::vector<std::string_view> names;
  names.reserve(request_.env.size());
  for (const EnvVar& variable : request_.env) names.push_back(variable.name);
  std::sort(names.begin(), names.end());
  const auto same = std::adjacent_find(names.begin(), names.end());
  if (same != names.end()) report_.add("env", messages::kDuplicateKey, {FieldReport::quoted(*same)});
}

}  // namespace

Result<ExecRequest, FieldErrors> parse_exec_request(std::string_view body) {
  ExecReader reader;
  if (auto fault = read_json(body, reader)) {
    return FieldErrors{{"body", *std::move(fault)}};
  }
  return reader.finish();
}

}  // namespace roombox
