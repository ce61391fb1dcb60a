#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The form in which edge, object and agent hand each other facts: a sequence of fields, each `name size\n`
/// and then so many bytes, whatever they are. Nothing separates a field from the next. A text of fields can
/// be lengthened by more of them; which of two of the same name counts is their reader's to say.
namespace roombox {

struct Field {
  std::string_view name;
  std::string_view value;
};

/// Writes fields at the end of a string, which must outlive it.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  FieldWriter& text(std::string_view name, std::string_view value);
  FieldWriter& number(std::string_view name, std::int64_t value);

 private:
  std::string& out_;
};

/// Bytes that a field takes.
std::size_t field_size(std::string_view name, std::string_view value);

/// Reads fields one after another. Whatever the bytes, it stays within them.
class FieldReader {
 public:
  /// @param bytes borrowed; what is read are views of them
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}

  /// The next field; none at the end, and where the bytes are no field.
  std::optional<Field> next();

  /// Whether the bytes ended to be fields before they ended.
  bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace roombox
