#pragma once

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

#include "container/sys/call.h"
#include "container/sys/fd.h"
#include "wasm/protocol/file.h"

/// How paths that callers name are looked up. On the FileThread.
namespace roombox {

/// Opens a path, but nothing of /proc: there a thread of the agent finds the agent itself, and may do what no
/// command may. That is EACCES.
Result<sys::Fd, sys::Failure> open_path(int directory, const std::string& path, int flags);

/// A name in a directory: where a file is made, replaced or removed.
struct Place {
  sys::Fd directory;  ///< O_PATH.
  std::string name;   ///< Not empty, `.` or `..`, and no slash in it.

  /// What is there, itself; none where there is nothing.
  Result<std::optional<struct stat>, sys::Failure> look() const;
};

/// The place of a path.
/// @param links Follow: where a link is in the place, the one that it leads to
enum class Links { Follow, Keep };
Result<Place, sys::Failure> find_place(const std::string& path, Links links);

/// Makes a directory and those above it; whether the last is new.
Result<bool, sys::Failure> make_directories(const std::string& path);

FileType type_of(const struct stat& status);
std::chrono::system_clock::time_point modified_at(const struct stat& status);

/// A strong entity tag (RFC 9110, 8.8.3): another one after every change, as far as the file system's clock
/// ticks.
std::string entity_tag(const struct stat& status);

}  // namespace roombox
