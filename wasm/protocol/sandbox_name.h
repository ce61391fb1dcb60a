#pragma once

#include <string>
#include <string_view>

namespace roombox {

inline constexpr std::string_view kSandboxPrefix = "sandbox-";

/// The name of a room's sandbox.
inline std::string sandbox_name(std::string_view room_id) {
  return std::string(kSandboxPrefix).append(room_id);
}

/// The id of the room that a sandbox is of; the name itself where it is no sandbox's.
inline std::string_view room_of(std::string_view sandbox_name) {
  if (sandbox_name.starts_with(kSandboxPrefix)) sandbox_name.remove_prefix(kSandboxPrefix.size());
  return sandbox_name;
}

}  // namespace roombox
