#include "wasm/protocol/json_writer.h"

#include <array>
#include <charconv>
#include <cstring>

#include "wasm/protocol/base64.h"
#include "wasm/protocol/json_block.h"
#include "wasm/protocol/utf8.h"

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
      std::memcpy(to_, at, kBlock);
      const Block block = scan_block(at);
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
    if (end - at >= static_cast<std::ptrdiff_t>(utf8::kLongestCharacter)) {
      if (const std::size_t length = utf8::character_length(at); length > 0) {
        std::memcpy(to_, at, utf8::kLongestCharacter);
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
  while (!bytes.empty()) {
    if (bytes.size() >= kBlock) {
      const Block block = scan_block(bytes.data());
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
