#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace roombox::bench {

/// One execution's record, as the agent sends it: `<id> <status> <head bytes> <output bytes>\n`, its head,
/// its output, each of the two a sequence of fields `<name> <size>\n` with the bytes after.
struct Record {
  std::string id, status;
  std::map<std::string, std::string, std::less<>> fields;

  /// Empty where it is absent.
  const std::string& field(std::string_view name) const;
  /// Throws where the field is absent or no number.
  long long number(std::string_view name) const;
};

/// Takes the first record of the buffer out of it, once it is there as a whole.
std::optional<Record> take_record(std::string& buffer);

}  // namespace roombox::bench
