#pragma once

// Boost.Asio's parts that the agent uses, in one place: also its precompiled header.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace roombox {

namespace asio = boost::asio;

}  // namespace roombox
