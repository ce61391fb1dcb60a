#pragma once

#include <cstddef>
#include <string_view>

/// UTF-8 as the WHATWG Encoding Standard decodes it, so that what we replace is what a TextDecoder would.
namespace roombox::utf8 {

struct Sequence {
  std::size_t length;  ///< Bytes, at least 1: of the character, or of what one U+FFFD stands for.
  enum class Kind {
    Valid,
    Invalid,     ///< No character begins so.
    Incomplete,  ///< The text ends before the character does.
  } kind;
};

/// The sequence that a non-empty text begins with.
Sequence first_sequence(std::string_view text);

/// Bytes at the end of a text that begin a character and do not end it: 0 to 3.
std::size_t incomplete_tail(std::string_view text);

/// As much of a valid text as fits into `limit` bytes without cutting a character.
std::string_view prefix(std::string_view text, std::size_t limit);

}  // namespace roombox::utf8
