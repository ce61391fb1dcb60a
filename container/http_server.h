#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "container/asio.h"

namespace roombox {

/// A request as it arrived, borrowed from its exchange.
struct HttpRequest {
  std::string_view method;
  std::string_view target;
  std::string_view body;
  std::function<std::string_view(std::string_view name)> header;  ///< Empty where the header is absent.
};

struct HttpResponse {
  unsigned status;
  std::string content_type;
  std::string body;
};

/// One request and its one response. Keep it until it was answered.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;

  /// Answers, once. Nothing happens where the client has left.
  virtual void respond(HttpResponse response) = 0;

  /// Calls back, once, if the client leaves before it was answered.
  virtual void on_abandoned(std::function<void()> callback) = 0;
};

class HttpListener;

/// HTTP/1.1 (RFC 9112) with persistent connections. Lives in the io_context's thread.
class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  /// Words the server's own refusals: a request that is malformed (400), too large (413) or has too large a
  /// header (431).
  using Refusal = std::function<HttpResponse(unsigned status)>;

  /// Listens at once. Throws boost::system::system_error where it cannot.
  HttpServer(asio::io_context& io, const std::string& address, unsigned short port, Handler handler,
             Refusal refusal);
  ~HttpServer();

  /// The port listened on: the one asked for, or the one chosen where that was 0.
  unsigned short port() const;

 private:
  std::shared_ptr<HttpListener> listener_;
};

}  // namespace roombox
