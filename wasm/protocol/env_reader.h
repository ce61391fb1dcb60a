#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/field_report.h"
#include "wasm/protocol/json_reader.h"

namespace roombox {

struct EnvVar {
  std::string name;
  std::string value;
};

/// Takes the members of a body's field of environment variables, and holds them to the rules of limits.h.
class EnvReader {
 public:
  /// A member; its name and its value are moved from.
  void add(FieldReport& report, std::string_view field, std::string& name, const JsonValue& value);

  /// After the last: all of them.
  std::vector<EnvVar> end(FieldReport& report, std::string_view field);

 private:
  std::vector<EnvVar> variables_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace roombox
