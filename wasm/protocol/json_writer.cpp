#include "wasm/protocol/json_writer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "wasm/protocol/base64.h"
#include "wasm/protocol/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace roombox {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// How a byte is written in a string of JSON. All eight bytes are copied, so many of them count.
struct Written {
  std::array<char, 7> text{};
  char size = 1;
};
static_assert(sizeof(Written) == 8);

/// Whether a character of several bytes can begin with a byte.
constexpr bool is_lead(std::uint8_t byte) {
  return byte >= 0xC2 && byte <= 0xF4;
}

constexpr Written written(std::uint8_t byte) {
  constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
  constexpr std::string_view kTo = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto character = static_cast<char>(byte);
  const std::size_t short_form = kFrom.find(character);
  if (short_form != std::string_view::npos) return {{'\\', kTo[short_form]}, 2};
  if (byte < 0x20) return {{'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]}, 6};
  if (byte >= 0x80) return {{kReplacement[0], kReplacement[1], kReplacement[2]}, 3};
  return {{character}, 1};
}

/// Of what is no lead; a byte that continues a character is no character where none has begun.
constexpr auto kWritten = [] {
  std::array<Written, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) table[byte] = written(static_cast<std::uint8_t>(byte));
  return table;
}();

/// Bytes that it takes.
std::size_t written_size(char byte) {
  return static_cast<std::size_t>(kWritten[static_cast<std::uint8_t>(byte)].size);
}

constexpr std::size_t kBlock = 16;

/// What a block of text consists of.
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

/// Copies a block and says what is in it.
inline Block copy_block(const char* from, char* to) {
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), block);
  const __m128i low = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));  // signed: and all that are no ASCII
  const __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
  const __m128i special = _mm_or_si128(low, _mm_or_si128(quote, backslash));
  const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(special));
  const bool ascii = _mm_movemask_epi8(block) == 0;
  return {static_cast<std::size_t>(std::countr_zero(mask | 1u << kBlock)), has_three(mask), ascii};
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

/// Copies a block and says what is in it.
inline Block copy_block(const char* from, char* to) {
  const uint8x16_t block = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
  vst1q_u8(reinterpret_cast<std::uint8_t*>(to), block);
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

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

/// Bit 7 of each byte below `limit`, and perhaps of bytes behind the first such.
constexpr std::uint64_t below(std::uint64_t word, std::uint64_t limit) {
  return (word - kOnes * limit) & ~word & kHighs;
}

/// Bit 7 of each byte that does not stand for itself, and perhaps of bytes behind the first such.
constexpr std::uint64_t specials(std::uint64_t word) {
  const std::uint64_t quotes = below(word ^ (kOnes * '"'), 1) | below(word ^ (kOnes * '\\'), 1);
  return (word & kHighs) | below(word, 0x20) | quotes;
}

/// Copies a block and says what is in it.
inline Block copy_block(const char* from, char* to) {
  std::array<std::uint64_t, 2> words;
  static_assert(sizeof words == kBlock && std::endian::native == std::endian::little);
  std::memcpy(words.data(), from, kBlock);
  std::memcpy(to, words.data(), kBlock);
  const std::uint64_t first = specials(words[0]);
  const std::uint64_t second = specials(words[1]);
  const int bits = first != 0 ? std::countr_zero(first) : 64 + std::countr_zero(second);
  const bool ascii = ((words[0] | words[1]) & kHighs) == 0;
  return {static_cast<std::size_t>(bits) / 8, has_three(first) || has_three(second), ascii};
}

#endif

constexpr std::size_t kLongestCharacter = 4;

/// Bytes of the character at `at`, behind which there are kLongestCharacter - 1 more bytes; 0 if it is ASCII
/// or none. The same as utf8::first_sequence tells, sooner.
std::size_t character_length(const char* at) {
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

/// Writes text into a buffer on the stack, from where it goes on in few large pieces: much faster than to
/// lengthen a string by a few bytes at a time.
class Escaper {
 public:
  explicit Escaper(std::string& out) : out_(out) {}

  void write(std::string_view bytes) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (end - at >= static_cast<std::ptrdiff_t>(kBlock)) {
      if (to_ > last_) flush();
      const Block block = copy_block(at, to_);
      const char* const block_end = at + kBlock;
      if (block.ascii && block.dense) {
        for (; at != block_end; ++at) one(*at);
        continue;
      }
      at += block.plain;
      to_ += block.plain;
      if (block.ascii) {
        if (at != block_end) one(*at++);
      } else {
        while (at < block_end) at = any(at, end);
      }
    }
    if (to_ > last_) flush();
    while (at != end) at = any(at, end);
    flush();
  }

 private:
  /// What a block and the character that begins in its last byte can become, and what is copied beyond that.
  static constexpr std::size_t kReserve = kBlock * 6 + 16;
  static constexpr std::size_t kBuffer = 4096;

  void flush() {
    out_.append(buffer_.data(), to_);
    to_ = buffer_.data();
  }

  /// Writes a byte that is no lead.
  void one(char byte) {
    const Written& text = kWritten[static_cast<std::uint8_t>(byte)];
    std::memcpy(to_, &text, sizeof text);
    to_ += text.size;
  }

  /// Writes one character, or U+FFFD for what is none; returns where the next begins.
  const char* any(const char* at, const char* end) {
    if (!is_lead(static_cast<std::uint8_t>(*at))) {
      one(*at);
      return at + 1;
    }
    if (end - at >= static_cast<std::ptrdiff_t>(kLongestCharacter)) {
      if (const std::size_t length = character_length(at); length > 0) {
        std::memcpy(to_, at, kLongestCharacter);
        to_ += length;
        return at + length;
      }
    }
    const auto sequence = utf8::first_sequence({at, static_cast<std::size_t>(end - at)});
    const bool valid = sequence.kind == utf8::Sequence::Kind::Valid;
    const std::string_view text = valid ? std::string_view(at, sequence.length) : kReplacement;
    to_ += text.copy(to_, text.size());
    return at + sequence.length;
  }

  std::string& out_;
  std::array<char, kBuffer> buffer_;
  char* to_ = buffer_.data();
  const char* const last_ = buffer_.data() + kBuffer - kReserve;
};

}  // namespace

void JsonWriter::append_escaped(std::string& out, std::string_view bytes) {
  Escaper(out).write(bytes);
}

std::size_t JsonWriter::escaped_size(std::string_view bytes) {
  std::size_t size = 0;
  std::array<char, kBlock> copy;
  while (!bytes.empty()) {
    if (bytes.size() >= kBlock) {
      const Block block = copy_block(bytes.data(), copy.data());
      if (block.ascii) {
        size += block.plain;
        for (std::size_t i = block.plain; i < kBlock; ++i) size += written_size(bytes[i]);
        bytes.remove_prefix(kBlock);
        continue;
      }
    }
    if (!is_lead(static_cast<std::uint8_t>(bytes[0]))) {
      size += written_size(bytes[0]);
      bytes.remove_prefix(1);
      continue;
    }
    const auto sequence = utf8::first_sequence(bytes);
    const bool valid = sequence.kind == utf8::Sequence::Kind::Valid;
    size += valid ? sequence.length : kReplacement.size();
    bytes.remove_prefix(sequence.length);
  }
  return size;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view bytes) {
  separate();
  out_ += '"';
  append_escaped(out_, bytes);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::base64(std::string_view bytes) {
  separate();
  out_ += '"';
  append_base64(out_, bytes);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  std::array<char, 20> digits;  // of the most negative: a sign and 19 digits
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return literal({digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

JsonWriter& JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

}  // namespace roombox
