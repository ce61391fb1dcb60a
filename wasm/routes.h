#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wasm/access.h"
#include "wasm/edge.h"
#include "wasm/router.h"

namespace roombox::edge {

/// A request on a known path by a known method, with what its path names.
struct Call {
  const Request& request;
  const Subject& subject;                ///< Valid; a name is empty where the pattern has none.
  std::string_view port;                 ///< What `{port}` stands for in its pattern, still encoded.
  std::optional<std::string_view> rest;  ///< Likewise `{path}`.
};

/// The method of a call that every method is for, HEAD and unheard-of ones too.
inline constexpr std::string_view kAnyMethod = "*";

/// One call of the API. A path with several methods has a row for each; GET's is HEAD's too, but for streams.
/// Room, execution and port stand for themselves in a pattern as `{roomID}` (in v1 `{id}`), `{executionID}`
/// and `{port}`, the rest of a path as `{path}`.
struct Route {
  enum class Reply { Whole, Stream };  ///< A stream's GET is not HEAD's too: it would wait for the end.

  Dialect dialect;
  Scope scope;  ///< What its caller must be allowed.
  std::string_view method;
  std::string_view pattern;
  Decision (*decide)(const Call& call);
  Reply reply = Reply::Whole;
  std::ptrdiff_t depth = depth_of(pattern);
};

/// Every call there is.
std::span<const Route> routes();

}  // namespace roombox::edge
