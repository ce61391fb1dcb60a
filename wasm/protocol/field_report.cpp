#include "wasm/protocol/field_report.h"

#include <algorithm>

#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/utf8.h"

namespace roombox {

void FieldReport::add(std::string_view field, std::string_view message,
                      std::initializer_list<std::string_view> values) {
  if (is_full()) return;
  errors_.push_back({std::string(field), messages::fill(message, values)});
}

bool FieldReport::is_full() const {
  return errors_.size() == limits::kFieldErrors;
}

bool FieldReport::mentions(std::string_view field) const {
  return std::any_of(errors_.begin(), errors_.end(),
                     [field](const FieldError& error) { return error.field == field; });
}

std::string FieldReport::quoted(std::string_view name) {
  const std::string_view cut = utf8::prefix(name, limits::kQuotedName);
  return cut.size() == name.size() ? std::string(name) : std::string(cut) + "…";
}

}  // namespace roombox
