#include "wasm/protocol/kill_request.h"

#include <array>
#include <cmath>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

constexpr std::array<BodyField, 1> kFields = {{
    {"signal", 0, JsonKind::String, "string", Presence::Optional, JsonKind::Number, messages::kSignal},
}};

class KillReader final : public BodyReader {
 public:
  KillReader() : BodyReader(kFields) {}

  const KillRequest& request() const { return request_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    const auto number = signal_of(value);
    if (!number) return report().add(field.name, messages::kSignal);
    request_.signal = *number;
  }

  KillRequest request_;
};

}  // namespace

std::span<const BodyField> kill_fields() {
  return kFields;
}

std::optional<int> signal_of(const JsonValue& value) {
  if (value.kind == JsonKind::String) return signal_number(*value.text);
  const double number = value.number;
  const bool valid = std::trunc(number) == number && number >= kSignalMin && number <= kSignalMax;
  return valid ? std::optional(static_cast<int>(number)) : std::nullopt;
}

Result<KillRequest, FieldErrors> parse_kill_request(std::string_view body) {
  if (body.empty()) return KillRequest{};
  KillReader reader;
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return reader.request();
}

}  // namespace roombox
