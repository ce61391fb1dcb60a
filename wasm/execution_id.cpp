#include "wasm/execution_id.h"

#include <algorithm>

#include "wasm/protocol/field_report.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/percent.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kPrefix = "exec_";

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

std::optional<std::string> parse_execution_id(std::string_view segment) {
  constexpr std::size_t kEncodedByte = 3;  // %XX
  if (segment.size() > (kPrefix.size() + limits::kExecutionId) * kEncodedByte) return std::nullopt;
  std::optional<std::string> id = percent_decoded(segment);
  if (!id || !id->starts_with(kPrefix)) return std::nullopt;
  const std::string_view own = std::string_view(*id).substr(kPrefix.size());
  const bool valid =
      !own.empty() && own.size() <= limits::kExecutionId && std::all_of(own.begin(), own.end(), is_allowed);
  return valid ? id : std::nullopt;
}

Error no_execution(std::string_view id) {
  return {ErrorCode::NotFound, messages::fill(messages::kNoExecution, {FieldReport::quoted(id)})};
}

}  // namespace roombox::edge
