#include "wasm/protocol/token_request.h"

#include <array>
#include <utility>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/scope.h"

namespace roombox {
namespace {

using std::chrono::milliseconds;

enum Tag : std::size_t { kScope, kExpiresIn };

constexpr std::array<BodyField, 2> kFields = {{
    {"scope", kScope, JsonKind::Array, "array", Presence::Required},
    {"expires_in", kExpiresIn, JsonKind::Number, "number"},
}};

class TokenReader final : public BodyReader {
 public:
  TokenReader() : BodyReader(kFields) {}

  TokenRequest& request() { return request_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    if (field.tag != kExpiresIn) return;
    const auto asked = seconds(field.name, value.number, milliseconds(1000), limits::kTokenLifetimeMax);
    request_.lifetime = asked.value_or(limits::kTokenLifetime);
  }

  void accept_member(const BodyField& field, std::string&, const JsonValue& value) override {
    is_empty_ = false;
    const bool known = value.kind == JsonKind::String && value_in(kScopeNames, *value.text);
    if (!known) return report().add(field.name, messages::kScope);
    if (("," + request_.scopes + ",").find("," + *value.text + ",") != std::string::npos) return;
    if (!request_.scopes.empty()) request_.scopes += ',';
    request_.scopes += *value.text;
  }

  void end(const BodyField& field) override {
    if (field.tag == kScope && is_empty_) report().add(field.name, messages::kScope);
  }

  TokenRequest request_{{}, limits::kTokenLifetime};
  bool is_empty_ = true;
};

}  // namespace

std::span<const BodyField> token_fields() {
  return kFields;
}

Result<TokenRequest, FieldErrors> parse_token_request(std::string_view body) {
  TokenReader reader;
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return std::move(reader.request());
}

}  // namespace roombox
