#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// Appends a character.
///
/// Precondition: `code` is at most U+10FFFF, and no surrogate.
void append(std::string& out, char32_t code);

/// The sequence that a non-empty text begins with.
Sequence first_sequence(std::string_view text);

inline constexpr std::size_t kLongestCharacter = 4;

/// Bytes of the character at `at`, behind which there are kLongestCharacter - 1 more bytes; 0 if it is ASCII
/// or none. The same as first_sequence tells, sooner.
inline std::size_t character_length(const char* at) {
  const auto byte = [at](std::size_t index) { return static_cast<std::uint8_t>(at[index]); };
  const auto continues = [at](std::size_t index) { return (at[index] & 0xC0) == 0x80; };
  const std::uint8_t lead = byte(0);
  if (lead < 0xE0) return lead >= 0xC2 && continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  const bool overlong = lead == 0xF0 && byte(1) < 0x90;
  const bool too_large = lead > 0xF4 || (lead == 0xF4 && byte(1) >= 0x90);
  return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
}

/// Bytes of the characters that a text begins with before the first of ASCII, or what is none.
std::size_t beyond_ascii(std::string_view text);

/// Bytes at the end of a text that begin a character and do not end it: 0 to 3.
std::size_t incomplete_tail(std::string_view text);

/// As much of a valid text as fits into `limit` bytes without cutting a character.
std::string_view prefix(std::string_view text, std::size_t limit);

}  // namespace roombox::utf8
