#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "wasm/protocol/dialect.h"

/// The edge core: what the Worker does with a request, decided from its bytes alone.
namespace roombox::edge {

/// A request as the host hands it over; everything is borrowed for the length of the call.
struct Request {
  std::string_view method;
  std::string_view url;  ///< As received, still percent-encoded: absolute, or from its path on.
  std::optional<std::string_view> content_type;
  std::optional<std::string_view> content_length;
  std::optional<std::string_view> content_encoding;
  std::optional<std::string_view> idempotency_key;
  std::optional<std::string_view> last_event_id;
  std::optional<std::string_view> upgrade;
  std::optional<std::string_view> range;
  std::optional<std::string_view> if_range;
  std::optional<std::string_view> if_match;
  std::optional<std::string_view> if_none_match;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> preflight_method;   ///< Access-Control-Request-Method
  std::optional<std::string_view> preflight_headers;  ///< Access-Control-Request-Headers
  /// The host's word, never the client's, for whom the request is from: `open` where nobody needs
  /// credentials, `key` for an API key, `token <scopes> <room>` for a room token, its scopes with commas
  /// between them, known or not, its room an id or the beginning of some with a star; `unreadable <secret>`
  /// for a token whose key cannot be read, by its name; or why it is from nobody: `missing`, `invalid`,
  /// `expired` or `unconfigured`. Absent: the last.
  std::optional<std::string_view> caller;
  std::optional<std::string_view> allowed_origins;  ///< Likewise: other origins, with blanks between them.
  std::optional<std::string_view> header_bytes;     ///< Likewise: of all headers together, in decimal.
  std::optional<std::string_view> max_rooms;        ///< Likewise: how many rooms a key may have, in decimal.
  std::optional<std::string_view> body;             ///< Absent until a decision asked for it.
};

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Answer this; nothing else is touched. A status of 101 is a WebSocket, and the body what the host says on
/// it before it closes, as fields (protocol/fields.h): `text` and `binary` messages, and `close`, a code, a
/// blank and a reason.
struct Answer {
  int status;
  Headers headers;
  std::string body;
  std::string_view code = {};  ///< Of an error: its code's name; for logs. Static.
};

/// Read the body, at most `limit` bytes of it and one more to see that there are more, then ask again with
/// it.
struct ReadBody {
  std::size_t limit;
};

/// Send the caller's own body to the agent of a sandbox, through its object, and pass the reply through; what
/// is for the path `/presence`, the object answers itself. A
/// body that was not asked for is passed through likewise, as it comes; GET, HEAD and DELETE have none.
struct Forward {
  enum class Base {
    None,    ///< The agent gets `headers` alone.
    Callers  ///< It gets the caller's own, and `headers` in place of those of the same names.
  };

  std::string sandbox;
  std::string method;
  std::string path;
  Headers headers;
  std::string seed;  ///< Of the record of a new execution (protocol/record.h); empty where there is none.
  Base base = Base::None;
  Headers reply_headers = {};  ///< What the reply gets beside its own.
};

/// Ask the object of a sandbox, or where none is named what keeps the list of rooms, and word what comes of
/// it by answer_outcome.
struct Ask {
  /// `destroy`, `status`, `records`, `record`, `sessions`, `metrics`, `token`, `ticket`, `sleep`, `wake`,
  /// `timeout`, `rooms` or `create`.
  std::string operation;
  std::string sandbox;  ///< Empty for the last two.
  /// Of `records`: limit, cursor, status; of `record`: id; of `rooms`: limit, cursor; of `create`: prefix,
  /// which 18 random lower-case hexadecimal digits make a room id; of `create`, `wake` and `timeout`:
  /// sleep_after_ms, after how many milliseconds without activity the sandbox is to sleep by itself, 0 for
  /// never; of `token` and `ticket`: scopes, with commas between them; of `token`: lifetime_ms. Absent ones
  /// are left out, but for the limit.
  Headers arguments;
  std::string fields;  ///< Of `create`: `env`, a NAME=value for all commands of the sandbox, again and again.
};

/// Answer with a page that the host has.
struct Page {
  std::string_view file;  ///< Its name among the host's static files. Static.
};

using Decision = std::variant<Answer, ReadBody, Forward, Ask, Page>;

/// What a request is about, as far as its path is right; no names where it is not.
struct Subject {
  enum class Matter { Commands, Files, Ports, Rooms };

  Dialect dialect = Dialect::Rooms;
  std::string sandbox;               ///< The name of the sandbox.
  std::string execution;             ///< The id of the execution.
  Matter matter = Matter::Commands;  ///< What a failure is told of.
  std::string_view pattern;          ///< Of the routes (routes.h); empty where none is for the path. Static.
};
Subject subject_of(const Request& request);

/// Decides on a request. Pure: the same request gets the same decision.
/// @param subject gets what it is about, if that was looked at
Decision decide(const Request& request, Subject& subject);
Decision decide(const Request& request);

/// Words the answer for a request of which the host reports an outcome: `name`, or `name\n` and fields
/// (protocol/fields.h). outcome.cpp has the names; an unknown one counts as `crashed`.
Answer answer_outcome(const Request& request, std::string_view outcome);

}  // namespace roombox::edge
