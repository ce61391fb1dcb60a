#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/protocol/dialect.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/named.h"

/// Files as callers see them.
namespace roombox {

enum class FileType { File, Directory, Symlink, Other };

inline constexpr Names<FileType, 4> kFileTypeNames = {{
    {FileType::File, "file"},
    {FileType::Directory, "directory"},
    {FileType::Symlink, "symlink"},
    {FileType::Other, "other"},
}};

/// The name in JSON, as in `"type":"directory"`.
constexpr std::string_view name(FileType type) {
  return name_in(kFileTypeNames, type);
}

/// An entry of a directory.
struct FileEntry {
  std::string_view name;  ///< Any bytes but NUL and slash.
  FileType type;          ///< Of the entry itself: links are not followed.
  std::uint64_t size;     ///< Bytes.
  unsigned mode;          ///< Its permissions: the lower twelve bits.
  std::chrono::system_clock::time_point modified_at;
};

/// Writes a directory's listing as the JSON of a dialect, in pieces: for rooms `{"path":…,"entries":[…]}`,
/// for v1 a list of files. A name that is no UTF-8 comes a second time, in base64, as `nameBase64`
/// (`name_base64`).
class ListingWriter {
 public:
  /// @param path of the directory
  ListingWriter(std::string_view path, Dialect dialect);
  ListingWriter(const ListingWriter&) = delete;

  void add(const FileEntry& entry);
  void end();

  /// What was written since the last call.
  std::string take();

 private:
  void add_sdk(const FileEntry& entry);

  const std::string path_;
  const Dialect dialect_;
  std::string text_;
  JsonWriter json_;
};

/// What a call that made something is answered with, as the JSON of a dialect: of a file with its size, of a
/// directory without.
std::string render_made(std::string_view path, std::optional<std::uint64_t> size, Dialect dialect);

}  // namespace roombox
