#include "wasm/file_calls.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wasm/agent_call.h"
#include "wasm/checks.h"
#include "wasm/file_path.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/percent.h"

namespace roombox::edge {
namespace {

/// The headers by which a caller asks for a part, or sets a condition: the agent's to judge, who has the
/// file.
struct Passed {
  std::string_view name;
  std::optional<std::string_view> Request::*value;
};
constexpr std::array<Passed, 4> kPassed = {{
    {"Range", &Request::range},
    {"If-Range", &Request::if_range},
    {"If-Match", &Request::if_match},
    {"If-None-Match", &Request::if_none_match},
}};

/// @param method the agent's; the caller's may be another
/// @param area   of the agent's file calls
Decision pass_on(const Call& call, std::string_view method, std::string_view area) {
  const auto path = file_path(call);
  if (!path) return refuse(call, path.error());
  Forward out = forward(call, method, std::string(area).append("?").append(percent_encoded(*path)));
  for (const Passed& header : kPassed) {
    if (const auto& value = call.request.*header.value) out.headers.emplace_back(header.name, *value);
  }
  return out;
}

/// The same by what a parameter of the query asks for.
Decision pass_on(const Call& call, std::string_view method, std::string_view parameter, std::string_view with,
                 std::string_view without) {
  const auto asked = flag(call.request, parameter);
  if (!asked) return refuse(call, asked.error());
  return pass_on(call, method, *asked ? with : without);
}

}  // namespace

Decision get_path(const Call& call) {
  return pass_on(call, call.request.method, agent_api::kFiles);
}

Decision get_file(const Call& call) {
  return pass_on(call, call.request.method, "list", agent_api::kFileList, agent_api::kFileBytes);
}

Decision list_directory(const Call& call) {
  return pass_on(call, call.request.method, agent_api::kFileList);
}

Decision put_file(const Call& call) {
  if (auto error = check_encoding(call.request)) return refuse(call, *error);
  return pass_on(call, "PUT", "mkdir", agent_api::kDirectory, agent_api::kFiles);
}

Decision make_directory(const Call& call) {
  return pass_on(call, "PUT", agent_api::kDirectory);
}

Decision delete_file(const Call& call) {
  return pass_on(call, "DELETE", "recursive", agent_api::kTree, agent_api::kFiles);
}

}  // namespace roombox::edge
