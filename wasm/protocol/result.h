#pragma once

#include <utility>
#include <variant>

namespace roombox {

/// A value, or the error that explains why there is none. The core does not throw; std::expected is C++23 and
/// absent from the oldest libc++ that we build with.
template <typename Value, typename Failure>
class [[nodiscard]] Result {
 public:
  Result(Value value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  explicit operator bool() const { return state_.index() == 0; }

  /// Precondition: holds a value.
  Value& operator*() { return *std::get_if<0>(&state_); }
  const Value& operator*() const { return *std::get_if<0>(&state_); }
  Value* operator->() { return std::get_if<0>(&state_); }
  const Value* operator->() const { return std::get_if<0>(&state_); }

  /// Precondition: holds an error.
  Failure& error() { return *std::get_if<1>(&state_); }
  const Failure& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<Value, Failure> state_;
};

}  // namespace roombox
