#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roombox {

enum class JsonKind { Null, Boolean, Number, String, Array, Object };

/// The kind as zod and JavaScript call it: `null`, `boolean`, `number`, `string`, `array`, `object`.
std::string_view name(JsonKind kind);

/// A value as it is met. Of an array or object only its kind: what is inside follows, until the handler's
/// `close`.
struct JsonValue {
  JsonKind kind;
  double number = 0;  ///< Of a number; 10^30 stands for all from there on, 10^-30 for all below it but 0.
  std::string* text = nullptr;  ///< Of a string, as UTF-8; the handler may move from it.
  bool truth = false;           ///< Of a boolean.
};

/// Takes the values of a document in their order.
class JsonHandler {
 public:
  virtual void value(const JsonValue& value) = 0;
  /// The name of the next value, which is a member of an object; may be moved from.
  virtual void key(std::string& name) = 0;
  /// The end of the array or object that was opened last.
  virtual void close() = 0;

 protected:
  ~JsonHandler() = default;
};

/// Reads a document (RFC 8259, after an optional byte order mark) and hands its values on as it goes, so a
/// handler may have seen some of them when an error comes back. Never recurses, touches each byte once, keeps
/// no more than one string at a time. Returns what is wrong with the document, with the byte position;
/// nothing if it is well-formed.
std::optional<std::string> read_json(std::string_view text, JsonHandler& handler);

}  // namespace roombox
