#include "wasm/protocol/body_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "wasm/protocol/messages.h"
#include "wasm/protocol/near_name.h"

namespace roombox {
namespace {

/// What other systems and dialects call fields, in lower case without `_` and `-`; of a word with several
/// names, the one that the body has.
constexpr std::array<Alias, 28> kAliases = {{
    {"command", "cmd"},
    {"cmd", "command"},
    {"script", "cmd"},
    {"script", "command"},
    {"run", "cmd"},
    {"run", "command"},
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
    {"input", "stdin"},
    {"streaming", "stream"},
    {"sse", "stream"},
    {"async", "detach"},
    {"background", "detach"},
    {"format", "encoding"},
    {"sig", "signal"},
    {"tty", "pty"},
    {"terminal", "pty"},
    {"maxrunafterdisconnect", "max_run_after_disconnect_ms"},
    {"columns", "cols"},
}};

}  // namespace

FieldErrors BodyReader::read(std::string_view body) {
  if (auto fault = read_json(body, *this)) return {{"body", *std::move(fault)}};
  for (std::size_t index = 0; is_object_ && index < fields_.size(); ++index) {
    const BodyField& field = fields_[index];
    if (seen_[index] || field.presence == Presence::Optional) continue;
    report_.add(field.name, messages::kWrongType, {field.expected, "undefined"});
  }
  finish();
  return report_.take();
}

std::optional<std::int64_t> BodyReader::whole(std::string_view field, double number, std::int64_t least,
                                              std::int64_t most) {
  if (std::trunc(number) != number) {
    report_.add(field, messages::kWrongType, {"int", "number"});
  } else if (number < static_cast<double>(least)) {
    report_.add(field, messages::kNumberTooSmall, {std::to_string(least)});
  } else if (number > static_cast<double>(most)) {
    report_.add(field, messages::kNumberTooBig, {std::to_string(most)});
  } else {
    return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> BodyReader::seconds(std::string_view field, double number,
                                                             std::chrono::milliseconds least,
                                                             std::chrono::milliseconds most) {
  constexpr double kMilli = 1000;
  const double ms = number * kMilli;
  if (ms > static_cast<double>(most.count())) {
    report_.add(field, messages::kNumberTooBig, {std::to_string(most.count() / 1000)});
  } else if (ms >= static_cast<double>(least.count())) {
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(std::ceil(ms)));
  } else {  // what is no number too, if there ever were one
    const bool is_whole = least.count() % 1000 == 0;
    report_.add(field, messages::kNumberTooSmall,
                {is_whole ? std::to_string(least.count() / 1000) : "0.001"});
  }
  return std::nullopt;
}

void BodyReader::accept_member(const BodyField&, std::string&, const JsonValue&) {}

void BodyReader::end(const BodyField&) {}

void BodyReader::value(const JsonValue& value) {
  if (level_ == kDocument) document(value);
  if (level_ == kBody && field_ != nullptr) field(value);
  if (level_ == kMember && in_record_) accept_member(*field_, member_, value);
  if (value.kind == JsonKind::Array || value.kind == JsonKind::Object) ++level_;
}

void BodyReader::key(std::string& name) {
  if (level_ == kMember && in_record_) member_ = std::move(name);
  if (level_ != kBody) return;
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const BodyField& f) { return f.name == name; });
  field_ = nullptr;
  if (found == fields_.end()) return report_unknown(name);
  const auto index = static_cast<std::size_t>(found - fields_.begin());
  if (seen_[index]) return report_.add(name, messages::kDuplicateKey, {name});
  seen_[index] = true;
  field_ = &*found;
}

void BodyReader::close() {
  --level_;
  if (level_ != kBody || !in_record_) return;
  in_record_ = false;
  end(*field_);
}

void BodyReader::document(const JsonValue& value) {
  is_object_ = value.kind == JsonKind::Object;
  if (!is_object_) report_.add("body", messages::kWrongType, {"object", name(value.kind)});
}

void BodyReader::field(const JsonValue& value) {
  if (value.kind != field_->kind && value.kind != field_->other_kind) {
    if (field_->mismatch.empty()) {
      report_.add(field_->name, messages::kWrongType, {field_->expected, name(value.kind)});
    } else {
      report_.add(field_->name, field_->mismatch);
    }
    return;
  }
  in_record_ = value.kind == JsonKind::Object || value.kind == JsonKind::Array;
  member_.clear();
  accept(*field_, value);
}

void BodyReader::report_unknown(const std::string& name) {
  if (report_.is_full()) return;  // to look for a name that is near takes time, and a body has many
  const std::string quoted = FieldReport::quoted(name);
  if (report_.mentions(quoted)) return;
  std::vector<std::string_view> names;
  names.reserve(fields_.size());
  for (const BodyField& field : fields_) names.push_back(field.name);
  const std::string_view near = nearest_name(name, names, kAliases);
  const std::string hint = near.empty() ? std::string() : messages::fill(messages::kDidYouMean, {near});
  report_.add(quoted, messages::kUnrecognizedKey, {quoted, hint});
}

}  // namespace roombox
