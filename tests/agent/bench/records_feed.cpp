#include "tests/agent/bench/records_feed.h"

#include <sstream>

#include "container/sys/parse.h"
#include "tests/agent/bench/support.h"

namespace roombox::bench {
namespace {

void add_fields(Record& record, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n'), space = bytes.find(' ');
    if (space > end || end == bytes.npos) fail("a field of record " + record.id + " has no size");
    const auto size = sys::parse<std::size_t>(bytes.substr(space + 1, end - space - 1));
    if (!size || *size > bytes.size() - end - 1) fail("a field of record " + record.id + " is cut short");
    record.fields[std::string(bytes.substr(0, space))] = bytes.substr(end + 1, *size);
    bytes.remove_prefix(end + 1 + *size);
  }
}

}  // namespace

const std::string& Record::field(std::string_view name) const {
  static const std::string kAbsent;
  const auto found = fields.find(name);
  return found == fields.end() ? kAbsent : found->second;
}

long long Record::number(std::string_view name) const {
  const auto value = sys::parse<long long>(field(name));
  if (!value) fail("record " + id + " has no " + std::string(name));
  return *value;
}

std::optional<Record> take_record(std::string& buffer) {
  const auto line = buffer.find('\n');
  if (line == buffer.npos) return std::nullopt;
  Record record;
  std::size_t head = 0, output = 0;
  std::istringstream words(buffer.substr(0, line));
  if (!(words >> record.id >> record.status >> head >> output)) fail("no frame of a record: " + words.str());
  if (buffer.size() - line - 1 < head + output) return std::nullopt;
  const auto bytes = std::string_view(buffer).substr(line + 1, head + output);
  add_fields(record, bytes.substr(0, head));
  add_fields(record, bytes.substr(head));
  buffer.erase(0, line + 1 + head + output);
  return record;
}

}  // namespace roombox::bench
