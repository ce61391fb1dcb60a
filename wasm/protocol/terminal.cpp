#include "wasm/protocol/terminal.h"

#include <array>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

enum Tag : std::size_t { kCols, kRows };

constexpr std::array<BodyField, 2> kFields = {{
    {"cols", kCols, JsonKind::Number, "number", Presence::Required},
    {"rows", kRows, JsonKind::Number, "number", Presence::Required},
}};

class SizeReader final : public BodyReader {
 public:
  SizeReader() : BodyReader(kFields) {}

  const TerminalSize& size() const { return size_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    const auto cells = whole(field.name, value.number, 1, limits::kTerminalCells);
    (field.tag == kCols ? size_.cols : size_.rows) = static_cast<std::uint16_t>(cells.value_or(1));
  }

  TerminalSize size_;
};

}  // namespace

std::span<const BodyField> terminal_fields() {
  return kFields;
}

Result<TerminalSize, FieldErrors> parse_terminal_size(std::string_view body) {
  SizeReader reader;
  FieldErrors errors = reader.read(body);
  if (!errors.empty()) return errors;
  return reader.size();
}

}  // namespace roombox
