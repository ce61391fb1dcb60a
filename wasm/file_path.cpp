#include "wasm/file_path.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "wasm/protocol/field_report.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/percent.h"
#include "wasm/router.h"

namespace roombox::edge {
namespace {

constexpr std::string_view kField = "path";

Error fault(std::string_view message, std::initializer_list<std::string_view> values = {}) {
  FieldReport report;
  report.add(kField, message, values);
  return invalid_request(report.take());
}

Result<std::string, Error> checked(std::optional<std::string> path) {
  if (!path) return fault(messages::kPathEncoding);
  if (!path->starts_with('/')) return fault(messages::kPathNotAbsolute);
  if (path->find('\0') != std::string::npos) return fault(messages::kPathNul);
  if (path->size() > limits::kPath) {
    return fault(messages::kStringTooBig, {std::to_string(limits::kPath)});
  }
  return *std::move(path);
}

/// Of the path itself: a slash that is no separator would be of a name, and no name has one.
Result<std::string, Error> from_rest(std::string_view rest) {
  auto path = percent_decoded(rest);
  if (path && std::count(path->begin(), path->end(), '/') != std::count(rest.begin(), rest.end(), '/')) {
    return fault(messages::kPathSlash);
  }
  return checked(path ? std::optional("/" + *path) : std::nullopt);
}

/// Of the query, where a `+` is a blank, as forms and URLSearchParams write it.
Result<std::string, Error> from_query(std::string_view query) {
  const auto value = parameter(query, kField);
  if (!value) return fault(messages::kWrongType, {"string", "undefined"});
  std::string text(*value);
  std::replace(text.begin(), text.end(), '+', ' ');
  return checked(percent_decoded(text));
}

}  // namespace

Result<std::string, Error> file_path(const Call& call) {
  return call.rest ? from_rest(*call.rest) : from_query(query_of(call.request.url));
}

}  // namespace roombox::edge
