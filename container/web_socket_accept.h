#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "container/asio.h"
#include "container/web_socket.h"

namespace roombox {

/// Answers a request that asks for a WebSocket, and speaks on it from then on.
///
/// @param keep kept as long as the connection is
std::shared_ptr<WebSocket> accept_web_socket(
    Socket socket, const boost::beast::http::request<boost::beast::http::string_body>& request,
    std::shared_ptr<WebSocketHandler> handler, std::shared_ptr<void> keep);

}  // namespace roombox
