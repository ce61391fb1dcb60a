#include "wasm/protocol/base64.h"

#include <array>
#include <cstdint>

namespace roombox {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char digit(std::uint32_t bits) {
  return kAlphabet[bits & 63];
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const std::size_t whole = bytes.size() / 3;
  const std::size_t rest = bytes.size() % 3;
  const std::size_t begin = out.size();
  out.resize(begin + base64_size(bytes.size()));
  char* to = out.data() + begin;
  for (std::size_t group = 0; group < whole; ++group, from += 3, to += 4) {
    const std::uint32_t bits = static_cast<std::uint32_t>(from[0]) << 16 | from[1] << 8 | from[2];
    to[0] = digit(bits >> 18);
    to[1] = digit(bits >> 12);
    to[2] = digit(bits >> 6);
    to[3] = digit(bits);
  }
  if (rest == 0) return;
  const std::uint32_t bits = static_cast<std::uint32_t>(from[0]) << 16 | (rest == 2 ? from[1] << 8 : 0);
  to[0] = digit(bits >> 18);
  to[1] = digit(bits >> 12);
  to[2] = rest == 2 ? digit(bits >> 6) : '=';
  to[3] = '=';
}

}  // namespace roombox
