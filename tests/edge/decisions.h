#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "wasm/edge.h"

/// What the tests of decisions share.
namespace roombox::edge {

/// The beginning of a call where nobody needs credentials.
inline Request open_call() {
  Request request{};
  request.caller = "open";
  return request;
}

/// An exec call as a well-behaved client sends it.
inline Request exec_call(std::optional<std::string_view> body = std::nullopt) {
  Request request = open_call();
  request.method = "POST";
  request.url = "http://localhost:8787/api/rooms/room-123/sandbox/exec";
  request.content_type = "application/json";
  request.body = body;
  return request;
}

/// A header's value; empty where it is absent.
inline std::string header(const Headers& headers, std::string_view name) {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  return found == headers.end() ? std::string() : found->second;
}

/// The alternative that is expected of a decision; a failure and an empty one where it is another.
template <typename Alternative>
Alternative expect(const Decision& decision) {
  const auto* const found = std::get_if<Alternative>(&decision);
  EXPECT_NE(found, nullptr) << "decision is alternative " << decision.index();
  return found == nullptr ? Alternative{} : *found;
}

}  // namespace roombox::edge
