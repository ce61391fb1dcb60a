#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

/// Chance for tests, the same everywhere: the standard fixes this generator's numbers, though not its
/// distributions'.
namespace roombox {

class Dice {
 public:
  std::size_t below(std::size_t limit) { return generator_() % limit; }

 private:
  std::mt19937 generator_{20261129};
};

/// Bytes at random, of a kind that dice choose: text, text of several bytes a character, or anything, which
/// is often the beginning of a character.
inline std::string random_bytes(Dice& dice, std::size_t size) {
  using namespace std::string_view_literals;
  constexpr std::string_view kPieces[] = {"a",    "line\n",   "\"\\", "é",        "€",
                                          "😀",    "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98",
                                          "\x80", "\xFF",     "\0"sv, "\xED\xA0", "\xC3"};
  std::string bytes;
  const std::size_t kinds = dice.below(3) == 0 ? 6 : std::size(kPieces);
  while (bytes.size() < size) {
    dice.below(8) == 0 ? bytes += static_cast<char>(dice.below(256)) : bytes += kPieces[dice.below(kinds)];
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace roombox
