#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace roombox {

/// The insides of JSON strings, a block of bytes at a time.
inline constexpr std::size_t kBlock = 16;

/// What a block consists of. A byte of ASCII that is no control character, quote or backslash stands for
/// itself.
struct Block {
  std::size_t plain;  ///< Bytes before the first that does not stand for itself; kBlock if there is none.
  bool dense;         ///< Probably there are three such bytes or more.
  bool ascii;         ///< All are ASCII.
};

/// Of a mask that has a bit set for each byte: whether there are three or more.
template <typename Mask>
constexpr bool has_three(Mask mask) {
  mask &= mask - 1;
  return (mask & (mask - 1)) != 0;
}

#if defined(__SSE2__)

/// Looks at the kBlock bytes from `from` on.
inline Block scan_block(const char* from) {
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i low = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));  // signed: and all that are no ASCII
  const __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
  const __m128i special = _mm_or_si128(low, _mm_or_si128(quote, backslash));
  const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(special));
  const bool ascii = _mm_movemask_epi8(block) == 0;
  return {static_cast<std::size_t>(std::countr_zero(mask | 1u << kBlock)), has_three(mask), ascii};
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

/// Looks at the kBlock bytes from `from` on.
inline Block scan_block(const char* from) {
  const uint8x16_t block = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
  const uint8x16_t high = vcgeq_u8(block, vdupq_n_u8(0x80));
  const uint8x16_t low = vcltq_u8(block, vdupq_n_u8(0x20));
  const uint8x16_t quote = vceqq_u8(block, vdupq_n_u8('"'));
  const uint8x16_t backslash = vceqq_u8(block, vdupq_n_u8('\\'));
  const uint8x16_t special = vorrq_u8(vorrq_u8(high, low), vorrq_u8(quote, backslash));
  const uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(special), 4);  // four bits for each byte
  const std::uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
  const std::size_t plain = mask == 0 ? kBlock : static_cast<std::size_t>(std::countr_zero(mask)) / 4;
  return {plain, has_three(mask & 0x1111111111111111), vmaxvq_u8(high) == 0};
}

#else

inline constexpr std::uint64_t kOnes = 0x0101010101010101;
inline constexpr std::uint64_t kHighs = 0x8080808080808080;

/// Bit 7 of each byte below `limit`, and perhaps of bytes behind the first such.
constexpr std::uint64_t below(std::uint64_t word, std::uint64_t limit) {
  return (word - kOnes * limit) & ~word & kHighs;
}

/// Bit 7 of each byte that does not stand for itself, and perhaps of bytes behind the first such.
constexpr std::uint64_t specials(std::uint64_t word) {
  const std::uint64_t quotes = below(word ^ (kOnes * '"'), 1) | below(word ^ (kOnes * '\\'), 1);
  return (word & kHighs) | below(word, 0x20) | quotes;
}

/// Looks at the kBlock bytes from `from` on.
inline Block scan_block(const char* from) {
  std::array<std::uint64_t, 2> words;
  static_assert(sizeof words == kBlock && std::endian::native == std::endian::little);
  std::memcpy(words.data(), from, kBlock);
  const std::uint64_t first = specials(words[0]);
  const std::uint64_t second = specials(words[1]);
  const int bits = first != 0 ? std::countr_zero(first) : 64 + std::countr_zero(second);
  const bool ascii = ((words[0] | words[1]) & kHighs) == 0;
  return {static_cast<std::size_t>(bits) / 8, has_three(first) || has_three(second), ascii};
}

#endif

}  // namespace roombox
