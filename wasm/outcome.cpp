#include <array>
#include <optional>
#include <string_view>

#include "wasm/answer.h"
#include "wasm/edge.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/messages.h"

namespace roombox::edge {
namespace {

/// What a Destroy came to.
struct Deletion {
  std::string_view outcome;
  bool deleted;
};

constexpr std::array<Deletion, 2> kDeletions = {{
    {"deleted", true},
    {"absent", false},
}};

/// What kept a Forward from its answer.
struct Failure {
  std::string_view outcome;
  ErrorCode code;
  std::string_view message;
  std::string_view retry_after;  ///< Seconds; empty where trying the same again is no advice.
};

// A cold start takes a second or less, so after a slow one it is soon worth another try; a place in a full
// house is not free so soon.
constexpr std::array<Failure, 6> kFailures = {{
    {"start_failed", ErrorCode::ExecutionFailed, messages::kStartFailed, ""},
    {"start_timeout", ErrorCode::Unavailable, messages::kStartTimeout, "2"},
    {"at_capacity", ErrorCode::Unavailable, messages::kAtCapacity, "10"},
    {"lost", ErrorCode::ExecutionFailed, messages::kLost, ""},
    {"gone", ErrorCode::Gone, messages::kGone, ""},
    {"crashed", ErrorCode::Internal, messages::kCrashed, ""},
}};

std::optional<Answer> answer_deletion(const Request& request, std::string_view outcome) {
  const std::string sandbox = sandbox_of(request);
  for (const Deletion& row : kDeletions) {
    if (row.outcome != outcome || sandbox.empty()) continue;
    std::string body;
    JsonWriter(body)
        .begin_object()
        .key("sandboxName")
        .string(sandbox)
        .key("deleted")
        .boolean(row.deleted)
        .end_object();
    return answer(200, "application/json", std::move(body));
  }
  return std::nullopt;
}

Answer answer_failure(const Failure& failure) {
  Answer answer = error_answer(failure.code, failure.message);
  if (!failure.retry_after.empty()) answer.headers.emplace_back("Retry-After", failure.retry_after);
  return answer;
}

}  // namespace

Answer answer_outcome(const Request& request, std::string_view outcome) {
  if (auto answer = answer_deletion(request, outcome)) return *std::move(answer);
  for (const Failure& row : kFailures) {
    if (row.outcome == outcome) return answer_failure(row);
  }
  return answer_failure(kFailures.back());
}

}  // namespace roombox::edge
