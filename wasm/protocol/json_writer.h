#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace roombox {

/// Writes JSON by appending to a string; commas are its own business, well-formed nesting is the caller's.
/// Text may be any bytes: what is not UTF-8 becomes U+FFFD, as a TextDecoder would have it.
class JsonWriter {
 public:
  /// Appends to `out`, which must outlive the writer.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view bytes);
  JsonWriter& base64(std::string_view bytes);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& boolean(bool value) { return literal(value ? "true" : "false"); }
  JsonWriter& null() { return literal("null"); }

  /// Appends the inside of a JSON string: escaped, without its quotes.
  static void append_escaped(std::string& out, std::string_view bytes);

  /// How many bytes append_escaped appends.
  static std::size_t escaped_size(std::string_view bytes);

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  JsonWriter& literal(std::string_view text);
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace roombox
