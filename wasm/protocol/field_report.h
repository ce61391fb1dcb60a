#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "wasm/protocol/error.h"

namespace roombox {

/// Gathers what is wrong with a body's fields: at most limits::kFieldErrors faults, with a caller's own names
/// cut to limits::kQuotedName bytes.
class FieldReport {
 public:
  /// Adds a message of messages.h, filled with `values`, under a field's name.
  void add(std::string_view field, std::string_view message,
           std::initializer_list<std::string_view> values = {});

  bool empty() const { return errors_.empty(); }
  /// Whether it takes no more.
  bool is_full() const;
  bool mentions(std::string_view field) const;
  FieldErrors take() { return std::move(errors_); }

  /// A caller's own name as a message quotes it.
  static std::string quoted(std::string_view name);

 private:
  FieldErrors errors_;
};

}  // namespace roombox
