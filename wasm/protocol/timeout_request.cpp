#include "wasm/protocol/timeout_request.h"

#include <array>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

using std::chrono::milliseconds;

constexpr std::array<BodyField, 1> field_of(Presence timeout) {
  return {{{"timeout", 0, JsonKind::Number, "number", timeout}}};
}

constexpr std::array<BodyField, 1> kOptional = field_of(Presence::Optional);
constexpr std::array<BodyField, 1> kRequired = field_of(Presence::Required);

class TimeoutReader final : public BodyReader {
 public:
  explicit TimeoutReader(Presence timeout) : BodyReader(timeout_fields(timeout)) {}

  std::optional<milliseconds> sleep_after() const { return sleep_after_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    sleep_after_ = seconds(field.name, value.number, milliseconds(0), limits::kSleepAfterMax);
  }

  std::optional<milliseconds> sleep_after_;
};

}  // namespace

std::span<const BodyField> timeout_fields(Presence timeout) {
  return timeout == Presence::Required ? kRequired : kOptional;
}

Result<std::optional<milliseconds>, FieldErrors> parse_timeout_request(std::string_view body,
                                                                       Presence timeout) {
  if (body.empty() && timeout == Presence::Optional) return std::optional<milliseconds>();
  TimeoutReader reader(timeout);
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return reader.sleep_after();
}

}  // namespace roombox
