#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "container/sys/fd.h"

/// What the benchmarks and the soak share. Whatever goes wrong in them is thrown, as std::runtime_error.
namespace roombox::bench {

using Clock = std::chrono::steady_clock;
using sys::Fd;

[[noreturn]] inline void fail(const std::string& what) {
  throw std::runtime_error(what);
}

/// What a system call answered, unless that is -1.
template <typename Value>
Value must(const char* call, Value value) {
  if (value == -1) fail(std::string(call) + ": " + std::generic_category().message(errno));
  return value;
}

template <typename Call>
double seconds_of(Call&& call) {
  const auto began = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

class Samples {
 public:
  void add(double value) { values_.push_back(value); }

  std::size_t size() const { return values_.size(); }

  /// The value below which that share of all lies. Throws where there is none.
  double quantile(double share) const {
    if (values_.empty()) fail("nothing was measured");
    auto sorted = values_;
    const auto at =
        sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  }
  double median() const { return quantile(0.5); }

 private:
  std::vector<double> values_;
};

}  // namespace roombox::bench
