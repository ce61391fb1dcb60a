#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "wasm/protocol/stream.h"

namespace roombox {

/// What an execution has written, up to a cap; one writer, the execution. Memory is bounded whatever is
/// appended.
class OutputLog {
 public:
  /// @param cap bytes kept of each stream
  explicit OutputLog(std::size_t cap) : cap_(cap) {}

  /// Keeps the stream's first `cap` bytes and nothing after them, so that what is stored has no gap.
  void append(Stream stream, std::string_view bytes);

  /// The stored prefix of a stream; valid until the next append.
  std::string_view stored(Stream stream) const { return stored_[index(stream)]; }

  /// Whether a stream had more bytes than are stored.
  bool truncated() const { return truncated_; }

 private:
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

  std::size_t cap_;
  std::array<std::string, 2> stored_;
  bool truncated_ = false;
};

}  // namespace roombox
