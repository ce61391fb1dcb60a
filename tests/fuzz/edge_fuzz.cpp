// The first byte says what the others are: a head, or a body behind a right head, which a fuzzer would take
// long to find. Whatever they are, there is one decision, and a body is forwarded or refused with 400.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "wasm/abi.h"

namespace {

constexpr std::string_view kExec =
    "POST /api/rooms/r/sandbox/exec\nroombox-caller:key\ncontent-type:application/json\n";

void require(bool holds) {
  if (!holds) std::abort();
}

/// Puts both into the core's buffer.
void fill(std::string_view head, std::string_view body) {
  char* const input = edge_input(head.size() + body.size());
  require(input != nullptr);
  std::memcpy(input, head.data(), head.size());
  if (!body.empty()) std::memcpy(input + head.size(), body.data(), body.size());
}

void check_body(std::string_view body) {
  fill(kExec, body);
  const EdgeResult* result = edge_decide(kExec.size(), static_cast<std::int32_t>(body.size()));
  const bool refused = result->action == kEdgeAnswer && result->status_or_limit == 400;
  require(result->action == kEdgeForward || refused);
}

void check_head(std::string_view head) {
  fill(head, {});
  const EdgeResult* result = edge_decide(head.size(), -1);
  const bool http_status = result->status_or_limit >= 200 && result->status_or_limit < 600;
  require(result->action <= kEdgePage && (result->action != kEdgeAnswer || http_status));
  // Nobody gets further than to answers and pages whom the host has not named.
  const bool is_for_all = result->action == kEdgeAnswer || result->action == kEdgePage;
  require(is_for_all || head.find("roombox-caller:") != head.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 'h' ? check_head(rest) : check_body(rest);
  return 0;
}
