// Any bytes as a request: up to the first NUL its head, then its body. Whatever they are, there is one
// decision.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wasm/abi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* nul = std::find(data, data + size, 0);
  const auto head = static_cast<std::size_t>(nul - data);
  const std::size_t body = nul == data + size ? 0 : size - head - 1;
  char* input = edge_input(head + body);
  if (!input) std::abort();
  std::memcpy(input, data, head);
  std::memcpy(input + head, nul + (body ? 1 : 0), body);
  const EdgeResult* result = edge_decide(head, static_cast<std::int32_t>(body));
  if (result->action > kEdgeDestroy) std::abort();
  if (result->action == kEdgeAnswer && (result->status_or_limit < 200 || result->status_or_limit > 599))
    std::abort();
  return 0;
}
