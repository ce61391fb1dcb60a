#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wasm/edge.h"

namespace roombox::edge {

/// One call of the API. A path with several methods has a row for each; GET's is HEAD's too.
struct Route {
  std::string_view method;
  std::string_view pattern;
  /// Decides on a request of this route; `room` is the valid id of its path, empty where the pattern has
  /// none.
  Decision (*decide)(const Request& request, const std::string& room);
};

/// Every call there is.
std::span<const Route> routes();

}  // namespace roombox::edge
