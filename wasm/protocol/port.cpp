#include "wasm/protocol/port.h"

#include <array>

#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/decimal.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

constexpr std::array<BodyField, 1> kFields = {{
    {"port", 0, JsonKind::Number, "number", Presence::Required},
}};

class PortReader final : public BodyReader {
 public:
  PortReader() : BodyReader(kFields) {}

  std::uint16_t port() const { return port_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    port_ = static_cast<std::uint16_t>(whole(field.name, value.number, 1, limits::kPort).value_or(0));
    if (port_ == agent_api::kOwnPort) report().add(field.name, messages::kOwnPort, {std::to_string(port_)});
  }

  std::uint16_t port_ = 0;
};

}  // namespace

std::span<const BodyField> port_fields() {
  return kFields;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_decimal(text);
  if (!port || *port > limits::kPort || text.starts_with('0')) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

Error no_port() {
  return {ErrorCode::NotFound, messages::fill(messages::kNoPort, {std::to_string(limits::kPort),
                                                                  std::to_string(agent_api::kOwnPort)})};
}

Result<std::uint16_t, FieldErrors> parse_port_request(std::string_view body) {
  PortReader reader;
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return reader.port();
}

}  // namespace roombox
