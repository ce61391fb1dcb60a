#include "wasm/protocol/create_request.h"

#include <array>
#include <span>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

enum Tag : std::size_t { kTemplate, kTimeout, kMetadata, kEnv };

constexpr std::array<BodyField, 4> kSdkFields = {{
    {"templateID", kTemplate, JsonKind::String, "string"},
    {"timeout", kTimeout, JsonKind::Number, "number"},
    {"metadata", kMetadata, JsonKind::Object, "record"},
    {"envs", kEnv, JsonKind::Object, "record"},
}};

class CreateReader final : public BodyReader {
 public:
  explicit CreateReader(Dialect dialect) : BodyReader(create_fields(dialect)) {}

  CreateRequest& request() { return request_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    if (field.tag == kTemplate && *value.text != "base") report().add(field.name, messages::kTemplate);
    if (field.tag == kTimeout) {
      request_.sleep_after =
          seconds(field.name, value.number, std::chrono::milliseconds(0), limits::kSleepAfterMax);
    }
  }
  void accept_member(const BodyField& field, std::string& name, const JsonValue& value) override {
    if (field.tag == kEnv) env_.add(report(), field.name, name, value);
  }
  void end(const BodyField& field) override {
    if (field.tag == kEnv) request_.env = env_.end(report(), field.name);
  }

  CreateRequest request_;
  EnvReader env_;
};

}  // namespace

std::span<const BodyField> create_fields(Dialect dialect) {
  return dialect == Dialect::Sdk ? std::span<const BodyField>(kSdkFields) : std::span<const BodyField>();
}

Result<CreateRequest, FieldErrors> parse_create_request(std::string_view body, Dialect dialect) {
  if (body.empty()) return CreateRequest{};
  CreateReader reader(dialect);
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return std::move(reader.request());
}

}  // namespace roombox
