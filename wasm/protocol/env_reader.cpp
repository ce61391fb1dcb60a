#include "wasm/protocol/env_reader.h"

#include <algorithm>

#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/text.h"

namespace roombox {
namespace {

/// `[A-Za-z_][A-Za-z0-9_]*`, the names that a shell can use.
bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace

void EnvReader::add(FieldReport& report, std::string_view field, std::string& name, const JsonValue& value) {
  if (++count_ > limits::kEnvCount) return;  // `end` reports it, once
  const std::string quoted = FieldReport::quoted(name);
  if (!is_variable_name(name)) return report.add(field, messages::kEnvName, {quoted});
  if (value.kind != JsonKind::String) {
    return report.add(field, messages::kEnvWrongType, {roombox::name(value.kind), quoted});
  }
  const std::size_t entry = name.size() + 1 + value.text->size();  // NAME=value
  bytes_ += entry + 1;
  if (entry > limits::kEnvEntry) {
    return report.add(field, messages::kEnvEntryTooBig, {std::to_string(limits::kEnvEntry - 1), quoted});
  }
  if (has_nul(*value.text)) return report.add(field, messages::kEnvNul, {quoted});
  variables_.push_back({std::move(name), std::move(*value.text)});
}

std::vector<EnvVar> EnvReader::end(FieldReport& report, std::string_view field) {
  if (count_ > limits::kEnvCount) {
    report.add(field, messages::kEnvCountTooBig, {std::to_string(limits::kEnvCount)});
  }
  if (bytes_ > limits::kEnvBytes) {
    report.add(field, messages::kEnvBytesTooBig, {std::to_string(limits::kEnvBytes)});
  }
  std::vector<std::string_view> names;
  names.reserve(variables_.size());
  for (const EnvVar& variable : variables_) names.push_back(variable.name);
  std::sort(names.begin(), names.end());
  const auto same = std::adjacent_find(names.begin(), names.end());
  if (same != names.end()) report.add(field, messages::kDuplicateKey, {FieldReport::quoted(*same)});
  return std::move(variables_);
}

}  // namespace roombox
