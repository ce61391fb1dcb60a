#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wasm/protocol/attach.h"
#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/execution.h"

namespace roombox::edge {

enum class ReplayState {
  Told,  ///< The events are in `out`.
  Over,  ///< Nothing comes after that id.
  Lost,  ///< What comes after it cannot be told from what is stored.
};

/// Appends the events (protocol/sse.h) of an ended execution, from what is stored of it, as its agent told
/// them.
///
/// An event's id counts all bytes that were logged, so what is stored tells the place of an id only as far as
/// it has the bytes of both streams and their order. A replay from the first event can always be told: what
/// has no known place comes last, stdout first.
///
/// @param after the id after which to go on; 0 for all events
/// @param error why a failed execution failed; not used for others
ReplayState append_replay(std::string& out, const ExecutionView& execution, const Error& error,
                          std::string_view sandbox_name, Dialect dialect, std::uint64_t after);

/// The same of one whose sandbox died, and with it its log: it is told from its start, or only its end to who
/// has seen anything of it.
ReplayState append_lost_replay(std::string& out, const ExecutionView& execution, const Error& error,
                               std::string_view sandbox_name, Dialect dialect, std::uint64_t after);

enum class Log { Stored, Lost };

/// Appends what an attached client is told of an ended execution (protocol/attach.h), as an Answer of 101 has
/// it. Place and order as append_replay's.
ReplayState append_attached(std::string& out, const ExecutionView& execution, const Error& error, Log log,
                            attach::Framing framing, std::string_view sandbox_name, Dialect dialect,
                            std::uint64_t after);

}  // namespace roombox::edge
