#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "container/sys/call.h"
#include "container/sys/fd.h"

namespace roombox::sys {

/// What is to be read of a file, up to its end or an error; nothing of one that could not be opened.
inline std::string read_file(const Fd& file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto size = call("read", [&] { return ::read(file.get(), buffer.data(), buffer.size()); });
    if (!size || *size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(*size));
  }
}

inline std::string read_file(const std::string& path) {
  return read_file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

}  // namespace roombox::sys
