#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"
#include "wasm/protocol/stream.h"
#include "wasm/protocol/terminal.h"

/// What an execution and a client that is attached to it by a WebSocket say to each other.
///
/// Binary messages: a byte that tells the channel, then its payload. The server sends what is kept of the
/// output, ReplayEnd, the output as it comes and, if the command has come to an end of its own or was killed,
/// Exit; then it closes with kNormal. An execution that failed is closed with kFailed, and has no Exit.
///
/// Text messages: a client's control messages; in the rooms dialect also the server's first message
/// (start_message) and its answer to a message that breaks a rule (an error as calls are answered with).
namespace roombox::attach {

enum class Channel : std::uint8_t {
  Stdin = 0,      ///< Client to server: bytes for the command.
  Stdout = 1,     ///< Bytes of its output; of a terminal all of it.
  Stderr = 2,     ///< Likewise.
  Exit = 3,       ///< Its exit code, a 32-bit big-endian integer.
  ReplayEnd = 4,  ///< No payload: what follows is live.
};

/// Why a socket is closed (RFC 6455, 7.4; the registry of close codes there).
enum class CloseCode : std::uint16_t {
  Normal = 1000,       ///< All has been told, Exit too.
  Unsupported = 1003,  ///< The client sent what is no message of this protocol.
  Failed = 1011,       ///< The command has no exit: it could not be run, or its sandbox died.
  Behind = 1013,       ///< The client was so slow that what comes next for it is no longer kept.
};

enum class Framing {
  Channels,  ///< As above.
  Raw,       ///< A terminal's bytes and nothing else, both ways, up to the close.
};

std::string output_message(Stream stream, std::string_view bytes);
std::string exit_message(int code);
std::string replay_end_message();

/// `{"type":"start","id":…,"sandboxName":…,"sequence":…}`: the client's output begins after that sequence
/// number, which is an event id of the execution (sse.h). With the number of bytes that came since it makes
/// the `after` with which a client that lost the line goes on.
enum class Replay {
  Whole,      ///< Nothing is missing from there on.
  Truncated,  ///< Of an ended execution, only the beginning of its output is kept: `"truncated":true`.
};
std::string start_message(std::string_view execution_id, std::string_view sandbox_name,
                          std::uint64_t sequence, Replay replay = Replay::Whole);

/// What a client asks for with a text message.
struct Control {
  enum class Type { StdinEof, Resize, Signal } type = Type::StdinEof;
  TerminalSize size{};  ///< Of Resize.
  int signal = 0;       ///< Of Signal.
};

/// Reads and validates `{"type":"stdin-eof"}`, `{"type":"resize","cols":…,"rows":…}` or
/// `{"type":"signal","signal":…}`. Errors as parse_exec_request's.
Result<Control, FieldErrors> parse_control(std::string_view text);

}  // namespace roombox::attach
