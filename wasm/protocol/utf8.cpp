#include "wasm/protocol/utf8.h"

#include <algorithm>
#include <array>

namespace roombox::utf8 {
namespace {

/// What may follow a first byte: bytes in all, and the range of the second. The ranges keep out overlong
/// forms, surrogates and what lies above U+10FFFF; every later byte is 80..BF.
struct Lead {
  std::uint8_t length;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

constexpr Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

constexpr auto kLeads = [] {
  std::array<Lead, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) table[byte] = lead_of(byte);
  return table;
}();

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

}  // namespace

void append(std::string& out, char32_t code) {
  const auto continued = [code](unsigned shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out.append({static_cast<char>(0xC0 | code >> 6), continued(0)});
  } else if (code < 0x10000) {
    out.append({static_cast<char>(0xE0 | code >> 12), continued(6), continued(0)});
  } else {
    out.append({static_cast<char>(0xF0 | code >> 18), continued(12), continued(6), continued(0)});
  }
}

Sequence first_sequence(std::string_view text) {
  using Kind = Sequence::Kind;
  const Lead lead = kLeads[byte_at(text, 0)];
  if (lead.length == 0) return {1, Kind::Invalid};
  for (std::size_t at = 1; at < lead.length; ++at) {
    if (at == text.size()) return {at, Kind::Incomplete};
    const std::uint8_t min = at == 1 ? lead.second_min : 0x80;
    const std::uint8_t max = at == 1 ? lead.second_max : 0xBF;
    if (byte_at(text, at) < min || byte_at(text, at) > max) return {at, Kind::Invalid};
  }
  return {lead.length, Kind::Valid};
}

std::size_t beyond_ascii(std::string_view text) {
  std::size_t length = 0;
  while (text.size() - length >= kLongestCharacter) {
    const std::size_t next = character_length(text.data() + length);
    if (next == 0) return length;
    length += next;
  }
  while (length < text.size() && byte_at(text, length) >= 0x80) {
    const Sequence next = first_sequence(text.substr(length));
    if (next.kind != Sequence::Kind::Valid) break;
    length += next.length;
  }
  return length;
}

std::size_t incomplete_tail(std::string_view text) {
  const std::size_t longest = std::min<std::size_t>(text.size(), 3);
  for (std::size_t length = 1; length <= longest; ++length) {
    const std::string_view tail = text.substr(text.size() - length);
    if ((byte_at(tail, 0) & 0xC0) == 0x80) continue;  // not a first byte
    const Sequence sequence = first_sequence(tail);
    return sequence.kind == Sequence::Kind::Incomplete ? length : 0;
  }
  return 0;
}

std::string_view prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::string_view cut = text.substr(0, limit);
  return cut.substr(0, limit - incomplete_tail(cut));
}

}  // namespace roombox::utf8
