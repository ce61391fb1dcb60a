#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "wasm/protocol/dialect.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/stream.h"

/// An execution as Server-Sent Events: `start`, then `stdout` and `stderr` as they come, at the end `exit` or
/// `error`, once.
///
/// An execution's log is a sequence of units: the first is the start, then one for each byte of output, of
/// both streams in the order of arrival, then those of the end. An event's id is the number of its last unit:
/// 1 of `start`; 1 + the bytes logged so far of an output event; that of the end follows on all output. A
/// reader that resumes after an id gets exactly the units after it.
namespace roombox::sse {

/// The headers of an answer that is a stream of events.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kHeaders = {{
    {"Content-Type", "text/event-stream"},
    {"Cache-Control", "no-cache, no-transform"},
    {"X-Accel-Buffering", "no"},
}};

/// A comment that keeps the line awake.
inline constexpr std::string_view kPing = ": ping\n\n";

inline constexpr std::uint64_t kStartId = 1;

/// The id of the `error` of an execution whose sandbox died: how much it had written by then is lost with it,
/// so it follows on all that there can be. Clients may count ids in doubles.
inline constexpr std::uint64_t kLostId = (std::uint64_t{1} << 53) - 1;

/// Appends `start`: `{"id":…,"sandboxName":…}`, in v1 `{"id":…,"sandbox_id":…}`.
void append_start(std::string& out, std::string_view execution_id, std::string_view sandbox_name,
                  Dialect dialect);

/// Appends `exit` with what a plain call is answered with. `id` is what OutputEvents::finish returned.
void append_exit(std::string& out, std::uint64_t id, const ExecutionView& execution,
                 std::string_view sandbox_name, Dialect dialect);

/// Appends `error` with the error as a plain call is answered with it; as above.
void append_error(std::string& out, std::uint64_t id, const Error& error, Dialect dialect);

/// Makes events of one reader's output. In utf8 a character that is split is held back, at most 3 bytes of
/// each stream, and delivered whole by a later event; in base64 nothing is held back.
class OutputEvents {
 public:
  explicit OutputEvents(Encoding encoding) : encoding_(encoding) {}

  /// Restores what was held back where a reader resumes.
  ///
  /// @param bytes_before the stream's last bytes before that place: 3 are enough, fewer only if there are no
  ///                     more
  void prime(Stream stream, std::string_view bytes_before);

  /// Appends the event of the bytes that a stream has brought; none where all of them are held back.
  ///
  /// @param units the event's id: 1 + the bytes logged of both streams, these included
  void append(std::string& out, Stream stream, std::string_view bytes, std::uint64_t units);

  /// Appends what is held back at the end of the log, as it is: U+FFFD, one event with an id of its own for
  /// each stream that ends in the middle of a character. To be called at the end, once, before `exit` or
  /// `error`.
  ///
  /// @param total bytes logged of both streams together
  /// @param after the id after which a reader resumes; what it has seen by then is left out
  /// @return the id of `exit` or `error`: total + 2, and 1 more for each stream that ended so
  std::uint64_t finish(std::string& out, std::uint64_t total, std::uint64_t after = 0);

 private:
  /// The beginning of a character.
  struct Held {
    std::array<char, 3> bytes{};
    std::size_t size = 0;

    std::string_view view() const { return {bytes.data(), size}; }
    void set(std::string_view text) { size = text.copy(bytes.data(), bytes.size()); }
  };

  Held& held(Stream stream) { return held_[static_cast<std::size_t>(stream)]; }
  std::string_view complete(std::string& out, Held& held, std::string_view bytes);

  Encoding encoding_;
  std::array<Held, 2> held_;
};

}  // namespace roombox::sse
