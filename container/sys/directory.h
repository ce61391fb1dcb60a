#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox::sys {

/// Reads the names in a directory.
class Directory {
 public:
  static Result<Directory, Failure> open(Fd fd) {
    DIR* const stream = ::fdopendir(fd.get());
    if (!stream) return Failure{"fdopendir", errno};
    fd.release();  // the stream's now
    return Directory(stream);
  }

  int descriptor() const { return ::dirfd(stream_.get()); }

  /// The next name but `.` and `..`; empty at the end.
  Result<std::string, Failure> next() {
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream_.get());
      if (!entry && errno != 0) return Failure{"readdir", errno};
      if (!entry) return std::string();
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return std::string(name);
    }
  }

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };

  explicit Directory(DIR* stream) : stream_(stream) {}

  std::unique_ptr<DIR, Close> stream_;
};

}  // namespace roombox::sys
