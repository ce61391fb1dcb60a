#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "container/asio.h"

namespace roombox {

/// A call that is made later, from the io_context, once for however often it was asked for until then: since
/// more may come until then, and what it is about must not change while it is being told of. Not made any
/// more after the end of this object.
class Deferred {
 public:
  Deferred(asio::io_context& io, std::function<void()> call)
      : io_(io), state_(std::make_shared<State>(State{std::move(call)})) {}

  void operator()() {
    if (std::exchange(state_->asked, true)) return;
    asio::post(io_, [weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (!state) return;
      state->asked = false;
      state->call();
    });
  }

 private:
  struct State {
    std::function<void()> call;
    bool asked = false;
  };

  asio::io_context& io_;
  std::shared_ptr<State> state_;
};

}  // namespace roombox
