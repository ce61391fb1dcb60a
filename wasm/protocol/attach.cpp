#include "wasm/protocol/attach.h"

#include <array>

#include "wasm/protocol/body_fields.h"
#include "wasm/protocol/body_reader.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/kill_request.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/named.h"

namespace roombox::attach {
namespace {

constexpr Names<Control::Type, 3> kTypes = {{
    {Control::Type::StdinEof, "stdin-eof"},
    {Control::Type::Resize, "resize"},
    {Control::Type::Signal, "signal"},
}};

enum Tag : std::size_t { kType, kCols, kRows, kSignal };

constexpr std::array<BodyField, 4> kFields = {{
    {"type", kType, JsonKind::String, "string", Presence::Required},
    {"cols", kCols, JsonKind::Number, "number"},
    {"rows", kRows, JsonKind::Number, "number"},
    {"signal", kSignal, JsonKind::String, "string", Presence::Optional, JsonKind::Number, messages::kSignal},
}};

class ControlReader final : public BodyReader {
 public:
  ControlReader() : BodyReader(kFields) {}

  const Control& control() const { return control_; }

 private:
  void accept(const BodyField& field, const JsonValue& value) override {
    given_[field.tag] = true;
    switch (field.tag) {
      case kType: {
        const auto type = value_in(kTypes, *value.text);
        if (!type) return report().add(field.name, messages::kControlType);
        control_.type = *type;
        return;
      }
      case kCols:
      case kRows: {
        const auto cells = whole(field.name, value.number, 1, limits::kTerminalCells);
        auto& side = field.tag == kCols ? control_.size.cols : control_.size.rows;
        side = static_cast<std::uint16_t>(cells.value_or(1));
        return;
      }
      case kSignal: {
        const auto signal = signal_of(value);
        if (!signal) return report().add(field.name, messages::kSignal);
        control_.signal = *signal;
        return;
      }
    }
  }

  void finish() override {
    if (control_.type == Control::Type::Resize) require({kCols, kRows});
    if (control_.type == Control::Type::Signal) require({kSignal});
  }

  void require(std::initializer_list<Tag> tags) {
    for (const Tag tag : tags) {
      if (given_[tag] || report().mentions(kFields[tag].name)) continue;
      report().add(kFields[tag].name, messages::kWrongType, {kFields[tag].expected, "undefined"});
    }
  }

  Control control_;
  std::array<bool, kFields.size()> given_{};
};

std::string message(Channel channel, std::string_view payload) {
  std::string text;
  text.reserve(1 + payload.size());
  text += static_cast<char>(channel);
  text.append(payload);
  return text;
}

}  // namespace

std::span<const BodyField> control_fields() {
  return kFields;
}

std::string output_message(Stream stream, std::string_view bytes) {
  return message(stream == Stream::Stdout ? Channel::Stdout : Channel::Stderr, bytes);
}

std::string exit_message(int code) {
  const auto bits = static_cast<std::uint32_t>(code);
  const std::array<char, 4> bytes = {static_cast<char>(bits >> 24), static_cast<char>(bits >> 16),
                                     static_cast<char>(bits >> 8), static_cast<char>(bits)};
  return message(Channel::Exit, {bytes.data(), bytes.size()});
}

std::string replay_end_message() {
  return message(Channel::ReplayEnd, {});
}

std::string start_message(std::string_view execution_id, std::string_view sandbox_name,
                          std::uint64_t sequence, Replay replay) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("type").string("start").key("id").string(execution_id);
  json.key("sandboxName").string(sandbox_name);
  json.key("sequence").integer(static_cast<std::int64_t>(sequence));
  if (replay == Replay::Truncated) json.key("truncated").boolean(true);
  json.end_object();
  return text;
}

Result<Control, FieldErrors> parse_control(std::string_view text) {
  ControlReader reader;
  FieldErrors errors = reader.read(text);
  if (!errors.empty()) return errors;
  return reader.control();
}

}  // namespace roombox::attach
