#include "wasm/protocol/json_writer.h"

#include <array>
#include <charconv>
#include <cstring>

#include "wasm/protocol/base64.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

enum class ByteClass : std::uint8_t { Plain, Escape, Multibyte };

constexpr auto kClasses = [] {
  std::array<ByteClass, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    if (byte < 0x20 || byte == '"' || byte == '\\') table[byte] = ByteClass::Escape;
    if (byte >= 0x80) table[byte] = ByteClass::Multibyte;
  }
  return table;
}();

ByteClass class_of(char byte) {
  return kClasses[static_cast<std::uint8_t>(byte)];
}

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

/// Bit 7 of some byte is set if a byte is below `limit`; exact for words without bit 7 of any byte.
constexpr std::uint64_t any_below(std::uint64_t word, std::uint64_t limit) {
  return (word - kOnes * limit) & ~word & kHighs;
}

/// Whether a word of eight bytes holds plain bytes only.
bool is_plain(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, kWord);
  const std::uint64_t special = (word & kHighs) | any_below(word, 0x20) | any_below(word ^ (kOnes * '"'), 1) |
                                any_below(word ^ (kOnes * '\\'), 1);
  return special == 0;
}

/// The first byte that is not plain, or the end.
const char* skip_plain(const char* at, const char* end) {
  while (end - at >= static_cast<std::ptrdiff_t>(kWord) && is_plain(at)) at += kWord;
  while (at != end && class_of(*at) == ByteClass::Plain) ++at;
  return at;
}

void append_escape(std::string& out, char byte) {
  constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
  constexpr std::string_view kTo = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::size_t short_form = kFrom.find(byte);
  if (short_form != std::string_view::npos) {
    out.append({'\\', kTo[short_form]});
  } else {
    const auto code = static_cast<std::uint8_t>(byte);
    out.append({'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]});
  }
}

}  // namespace

void JsonWriter::append_escaped(std::string& out, std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const char* run = at;  // from here to `at`, bytes are to be copied as they are
  while ((at = skip_plain(at, end)) != end) {
    if (class_of(*at) == ByteClass::Multibyte) {
      const auto sequence = utf8::first_sequence({at, static_cast<std::size_t>(end - at)});
      const char* const next = at + sequence.length;
      if (sequence.kind != utf8::Sequence::Kind::Valid) {
        out.append(run, at).append(kReplacement);
        run = next;
      }
      at = next;
    } else {
      out.append(run, at);
      append_escape(out, *at);
      run = ++at;
    }
  }
  out.append(run, end);
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
