#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wasm/edge.h"
#include "wasm/protocol/error.h"
#include "wasm/protocol/result.h"

/// What can be wrong with a request beside its path and the contents of its body.
namespace roombox::edge {

/// Whether the URL and all headers are as short as they must be, whatever the call.
std::optional<Error> check_head_size(const Request& request);

/// Whether both together are as short as the agent takes them.
std::optional<Error> check_relayed_size(const Request& request);

/// Whether the body is sent as it is.
std::optional<Error> check_encoding(const Request& request);

/// Whether the body's encoding and declared length are right, before it is read.
std::optional<Error> check_body_headers(const Request& request);

/// The same of a body that must be JSON.
std::optional<Error> check_json_headers(const Request& request);

/// Whether a body that was read is as short as it must be.
std::optional<Error> check_body_size(const Request& request);

/// The same of a body that may be absent, but is JSON where it is not.
std::optional<Error> check_optional_json(const Request& request);

/// The Idempotency-Key, if there is one.
Result<std::optional<std::string>, Error> idempotency_key(const Request& request);

/// The Last-Event-ID, if there is one: a decimal number.
Result<std::optional<std::string>, Error> last_event_id(const Request& request);

/// Whether a call that is a WebSocket's asks for one.
std::optional<Error> check_upgrade(const Request& request);

/// Who a client says it is, from its query: decoded, as forms encode it.
Result<std::string, Error> presence_name(const Request& request);

/// The sequence number after which an attached client goes on, if its query gives one.
Result<std::optional<std::string>, Error> after_sequence(const Request& request);

/// The cursors that lists have.
enum class Cursor {
  Sequence,  ///< A decimal number.
  Room,      ///< `<Unix ms>.<sandbox name>`
};
enum class StatusFilter { None, Allowed };

/// What a list's query asks for, as an Ask's arguments: limit (its default where it is absent), cursor,
/// status.
Result<Headers, Error> page_arguments(const Request& request, Cursor cursor, StatusFilter filter);

/// Whether the query has a parameter of that name as `true`; absent, it counts as `false`.
Result<bool, Error> flag(const Request& request, std::string_view name);

/// The parameter of the query by which a call on a port says how long it waits.
inline constexpr std::string_view kWaitParameter = "wait_ms";

/// For how many milliseconds the query of a call on a port has it wait, if it says.
Result<std::optional<std::string>, Error> wait_ms(const Request& request);

/// Whether method and URL can go on as they came, in a line.
std::optional<Error> check_request_line(const Request& request);

/// What the query of a stdin call asks for.
Result<bool, Error> wants_eof(const Request& request);

}  // namespace roombox::edge
