#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/error.h"
#include "wasm/protocol/field_report.h"
#include "wasm/protocol/json_reader.h"

namespace roombox {

enum class Presence { Optional, Required };

/// A member that the object of a body may have. Dialects may give the same field another name.
struct BodyField {
  std::string_view name;
  std::size_t tag;  ///< What the reader of the body knows it by.
  JsonKind kind;
  std::string_view expected;  ///< The kind in zod's words.
  Presence presence = Presence::Optional;
  std::optional<JsonKind> other_kind = std::nullopt;  ///< One more kind that it may have.
  std::string_view mismatch = {};  ///< What to say of another kind, where it is not zod's usual sentence.
};

/// Reads a body that is an object of known fields: reports what is unknown, double, missing or of the wrong
/// kind, and hands on the values that are of the right one.
class BodyReader : private JsonHandler {
 public:
  /// Reads the whole body. The errors name every field that breaks a rule, or `body` with the byte position
  /// where the JSON ends to be JSON; none if the body is right. Once.
  FieldErrors read(std::string_view body);

 protected:
  /// @param fields borrowed for the reader's life
  explicit BodyReader(std::span<const BodyField> fields) : fields_(fields), seen_(fields.size()) {}
  ~BodyReader() = default;

  /// A field's value, of the right kind. Of an object or array, its members follow, then `end`.
  virtual void accept(const BodyField& field, const JsonValue& value) = 0;
  /// A member of a field that is an object or array, of any kind; the name may be moved from, and is empty in
  /// an array.
  virtual void accept_member(const BodyField& field, std::string& name, const JsonValue& value);
  virtual void end(const BodyField& field);
  /// All fields have been read.
  virtual void finish() {}

  FieldReport& report() { return report_; }

  /// A number that is whole and within bounds; else reports what it breaks.
  std::optional<std::int64_t> whole(std::string_view field, double number, std::int64_t least,
                                    std::int64_t most);

  /// A number of seconds within bounds, as milliseconds, where a part of one counts as one: 0 may mean more
  /// than very little. Else reports what it breaks.
  std::optional<std::chrono::milliseconds> seconds(std::string_view field, double number,
                                                   std::chrono::milliseconds least,
                                                   std::chrono::milliseconds most);

 private:
  /// Levels of arrays and objects that a value is inside of.
  enum Level : std::size_t { kDocument, kBody, kMember };

  void value(const JsonValue& value) override;
  void key(std::string& name) override;
  void close() override;

  void document(const JsonValue& value);
  void field(const JsonValue& value);
  void report_unknown(const std::string& name);

  std::span<const BodyField> fields_;
  FieldReport report_;
  std::size_t level_ = kDocument;
  std::vector<bool> seen_;
  bool is_object_ = false;
  const BodyField* field_ = nullptr;  ///< Of the current member of the body; none if unknown or met before.
  bool in_record_ = false;            ///< Inside the value of `field_`, which is an object or array.
  std::string member_;                ///< Name of the current member of the record.
};

}  // namespace roombox
