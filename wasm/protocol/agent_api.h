#pragma once

#include <string_view>

/// What the edge asks of the agent, and how: plain HTTP/1.1, the caller's own body passed through untouched.
namespace roombox::agent_api {

/// `POST`: run the command of an exec body; the answer is the final one, in the dialect asked for.
inline constexpr std::string_view kExecutions = "/executions";

/// `GET`: 200 once the agent takes commands.
inline constexpr std::string_view kHealth = "/health";

/// `GET`: the agent's version and boot id, as JSON.
inline constexpr std::string_view kVersion = "/version";

/// Request header: the sandbox's name, for the answer's `sandboxName`.
inline constexpr std::string_view kSandboxHeader = "Roombox-Sandbox";

/// Request header: the dialect of the answer, by its name in dialect.h; rooms where it is absent.
inline constexpr std::string_view kDialectHeader = "Roombox-Dialect";

}  // namespace roombox::agent_api
