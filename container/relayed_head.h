#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "container/http_server.h"

/// The heads of a request and of its response as a relay writes them anew (RFC 9110, 7.6): without the
/// headers that are of one connection alone, and without our own.
namespace roombox {

/// What a connection is used for after the response's head.
enum class Protocol { Http, WebSocket };

/// What a request asks for.
Protocol protocol_of(const HttpHeaders& headers);

/// Where a request goes.
struct RelayTarget {
  unsigned short port;
  std::string path;  ///< With its query, encoded.
};

/// The head that a server on this machine gets. Its Host is localhost: development servers refuse others.
std::string relayed_request(std::string_view method, const RelayTarget& target, const Handover& from,
                            Protocol protocol);

/// A response's head, borrowed from its bytes.
struct ResponseHead {
  unsigned status;
  std::string_view line;  ///< The first one.
  HttpHeaders headers;
};

/// Bytes of the response's head that these begin with; 0 where its end is not among them.
std::size_t response_head_size(std::string_view bytes);

/// Reads a whole head; nullopt where it is not one that everybody reads alike.
std::optional<ResponseHead> parse_response_head(std::string_view bytes);

/// The head that the client gets. It says that the connection is not used again.
std::string relayed_response(const ResponseHead& head, Protocol protocol);

/// Whether the response's body has a mark of its end, other than that of the connection.
bool has_framed_body(const ResponseHead& head);

}  // namespace roombox
