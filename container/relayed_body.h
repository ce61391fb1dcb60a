#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace roombox {

/// Finds where a request's body ends in the bytes that its connection brings (RFC 9112, 6), and changes none
/// of them: what comes after it is not for who reads the body.
class RelayedBody {
 public:
  /// @param size of the body; none where it comes in chunks
  explicit RelayedBody(std::optional<std::uint64_t> size);

  /// How many of the next bytes are the body's.
  std::size_t take(std::string_view bytes);

 private:
  enum class At { Size, Extension, Data, DataEnd, TrailerLine, Trailer, End };

  void step(char byte);
  void on_size_line();

  At at_;
  bool is_chunked_;
  std::uint64_t left_;  ///< Of the body, or of the chunk.
};

}  // namespace roombox
