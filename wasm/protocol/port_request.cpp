#include "wasm/protocol/port_request.h"

#include <array>

#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/body_reader.h"
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

Result<std::uint16_t, FieldErrors> parse_port_request(std::string_view body) {
  PortReader reader;
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return reader.port();
}

}  // namespace roombox
