#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "container/limits.h"
#include "wasm/protocol/execution.h"

/// What has happened since the agent began, for metrics.h. Each is kept by whom it happens to, in the
/// io_context's thread, by plain increments.
namespace roombox {

using Count = std::uint64_t;

/// How long things took: how many took at most each of a few bounds, and all together.
template <std::size_t Size>
class Histogram {
 public:
  using Bounds = std::array<std::chrono::milliseconds, Size>;

  /// @param bounds rising
  explicit constexpr Histogram(const Bounds& bounds) : bounds_(bounds) {}

  void add(std::chrono::nanoseconds took) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), took) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += took;
  }

  const Bounds& bounds() const { return bounds_; }

  /// For each bound how many took longer than the one before and no longer than it; the last is of those
  /// above all bounds.
  const std::array<Count, Size + 1>& counts() const { return counts_; }

  std::chrono::nanoseconds sum() const { return sum_; }

 private:
  Bounds bounds_;
  std::array<Count, Size + 1> counts_{};
  std::chrono::nanoseconds sum_{0};
};

/// Of all executions.
struct ExecutionCounters {
  Count started = 0;
  std::array<Count, 5> ended{};  ///< By status; of Running none.
  Count out_of_memory = 0;       ///< Those of them that ended for want of memory.
  Histogram<limits::kExecutionBuckets.size()> duration{limits::kExecutionBuckets};
  std::array<Count, 2> output_bytes{};  ///< By stream.

  static_assert(static_cast<std::size_t>(Status::Failed) == 4, "the last of them has its place");
};

/// Of kills of process trees.
struct KillCounters {
  Count overdue = 0;  ///< Those that processes outlived for limits::kTreeDeath.
  Histogram<limits::kTreeDeathBuckets.size()> death{limits::kTreeDeathBuckets};  ///< All that are over.
};

/// Of the HTTP server.
struct HttpCounters {
  Count connections = 0;            ///< Open now.
  std::array<Count, 6> answered{};  ///< Requests by the hundreds of their status.
  Count relayed = 0;                ///< Those handed over, whose answers are others'.
};

}  // namespace roombox
