// The first byte says what the others are: the head of a server's answer, or a request's body in chunks, and
// at what places it is cut. A head that is passed on reads as what it was passed on as, and says nothing of
// ours; a body ends at the same byte wherever it is cut.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "container/relayed_body.h"
#include "container/relayed_head.h"

namespace {

using namespace roombox;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_head(std::string_view bytes) {
  const std::size_t size = response_head_size(bytes);
  require(size <= bytes.size());
  const auto head = parse_response_head(bytes.substr(0, size));
  if (!head) return;
  const std::string passed = relayed_response(*head, Protocol::Http);
  require(response_head_size(passed) == passed.size());
  const auto again = parse_response_head(passed);
  require(again && again->status == head->status && relayed_response(*again, Protocol::Http) == passed);
  unsigned closes = 0;
  for (const auto& [name, value] : again->headers) {
    if (name == "Connection" && value == "close") ++closes;
    std::string lower(name);
    for (char& byte : lower) byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
    require(!lower.starts_with("roombox-") && (lower != "connection" || value == "close"));
  }
  require(closes == 1);
}

std::size_t end_of(std::string_view bytes, std::size_t piece) {
  RelayedBody body(std::nullopt);
  std::size_t taken = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = bytes.substr(at, piece);
    const std::size_t size = body.take(part);
    require(size <= part.size());
    taken += size;
    if (size < part.size()) require(body.take("x") == 0);
  }
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'h') {
    check_head(rest);
  } else {
    require(end_of(rest, rest.size() + 1) == end_of(rest, data[0] % 16u + 1));
  }
  return 0;
}
