#include "wasm/protocol/file.h"

#include <array>
#include <utility>

#include "wasm/protocol/timestamp.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto sequence = utf8::first_sequence(text);
    if (sequence.kind != utf8::Sequence::Kind::Valid) return false;
    text.remove_prefix(sequence.length);
  }
  return true;
}

/// As chmod(1) takes it: 0644.
std::string octal(unsigned mode) {
  std::array<char, 4> digits;
  for (std::size_t at = digits.size(); at-- > 0; mode >>= 3) digits[at] = static_cast<char>('0' + (mode & 7));
  return {digits.data(), digits.size()};
}

/// The path of an entry of a directory.
std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace

ListingWriter::ListingWriter(std::string_view path, Dialect dialect)
    : path_(path), dialect_(dialect), json_(text_) {
  switch (dialect_) {
    case Dialect::Rooms:
      json_.begin_object().key("path").string(path_).key("entries");
      break;
    case Dialect::V1:
      json_.begin_object().key("object").string("list").key("data");
      break;
    case Dialect::Sdk:
      break;
  }
  json_.begin_array();
}

void ListingWriter::add(const FileEntry& entry) {
  if (dialect_ == Dialect::Sdk) return add_sdk(entry);
  const bool v1 = dialect_ == Dialect::V1;
  json_.begin_object();
  if (v1) json_.key("object").string("file").key("path").string(joined(path_, entry.name));
  json_.key("name").string(entry.name);
  if (!is_utf8(entry.name)) json_.key(v1 ? "name_base64" : "nameBase64").base64(entry.name);
  json_.key("type").string(name(entry.type));
  json_.key("size").integer(static_cast<std::int64_t>(entry.size));
  json_.key("mode").string(octal(entry.mode));
  json_.key(v1 ? "modified_at" : "modifiedAt").string(iso_8601(entry.modified_at)).end_object();
}

void ListingWriter::add_sdk(const FileEntry& entry) {
  json_.begin_object().key("name").string(entry.name);
  json_.key("isDir").boolean(entry.type == FileType::Directory);
  json_.key("path").string(joined(path_, entry.name));
  json_.key("size").integer(static_cast<std::int64_t>(entry.size)).end_object();
}

void ListingWriter::end() {
  json_.end_array();
  if (dialect_ != Dialect::Sdk) json_.end_object();
}

std::string ListingWriter::take() {
  return std::exchange(text_, {});
}

std::string render_made(std::string_view path, std::optional<std::uint64_t> size, Dialect dialect) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  if (dialect == Dialect::V1) json.key("object").string(size ? "file" : "directory");
  json.key("path").string(path);
  if (size) json.key("size").integer(static_cast<std::int64_t>(*size));
  json.end_object();
  return body;
}

}  // namespace roombox
