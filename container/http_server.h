#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/asio.h"
#include "container/counters.h"
#include "container/web_socket.h"

namespace roombox {

/// A request as it arrived, borrowed from its exchange.
struct HttpRequest {
  std::string_view method;
  std::string_view target;
  std::string_view body;                                          ///< Empty until it has been read.
  std::function<std::string_view(std::string_view name)> header;  ///< Empty where the header is absent.
};

/// Names and values.
using HttpHeaders = std::vector<std::pair<std::string_view, std::string_view>>;

struct HttpResponse {
  unsigned status;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< Others than those of the body.
};

/// A body that is sent as it comes.
class BodySource {
 public:
  virtual ~BodySource() = default;

  enum class Next {
    Now,    ///< There is more to send.
    Later,  ///< There will be: Exchange::wake tells when.
    End,    ///< That was all.
    Break,  ///< There was more, but it cannot be had: the connection is cut, so that nobody takes it for
            ///< whole.
  };

  /// Appends what is to be sent next, some hundred KiB at most, and may append nothing. Called when all that
  /// was appended before has been taken by the connection: so the source is never ahead of its reader.
  virtual Next fill(std::string& out) = 0;
};

/// Takes a request's body as it comes.
class BodySink {
 public:
  virtual ~BodySink() = default;

  /// Takes the next bytes. They stay, and no more are read, until Exchange::receive_more or an answer: so the
  /// client is never ahead of the sink.
  virtual void take(std::string_view bytes) = 0;

  /// That was all. Or: the client left before that; there is nobody to answer.
  virtual void end() = 0;
  virtual void cut() = 0;
};

/// A request that is to be relayed, with the connection that it came by: both are its exchange's.
struct Handover {
  Socket& socket;
  unsigned version;                        ///< Of HTTP: 10 or 11.
  HttpHeaders headers;                     ///< As they came; those of one name together.
  std::optional<std::uint64_t> body_size;  ///< None where it comes in chunks.
  std::string received;                    ///< What has come after the head: the body's, if it has one.
};

/// One request and its one response. Keep it until it was answered.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;

  /// Answers, once. Nothing happens where the client has left.
  virtual void respond(HttpResponse response) = 0;

  /// Answers, once, with a body from a source, which is kept until its end or until the client leaves. The
  /// request is no longer there afterwards. HEAD is answered with the head alone.
  /// @param size of the body, for its Content-Length; without one it comes in chunks
  virtual void stream(HttpResponse head, std::shared_ptr<BodySource> source,
                      std::optional<std::uint64_t> size = std::nullopt) = 0;

  /// Hands a body that the gate lets in as a stream to a sink, which is kept until its end. Once, before an
  /// answer; with an answer instead, or before the end, the rest is not read and the connection ends.
  virtual void receive(std::shared_ptr<BodySink> sink) = 0;

  /// Gives the sink the next bytes.
  virtual void receive_more() = 0;

  /// Answers, once, by becoming a WebSocket; where the request asks for none, by a refusal, and returns null.
  /// The request is no longer there afterwards.
  virtual std::weak_ptr<WebSocket> upgrade(std::shared_ptr<WebSocketHandler> handler) = 0;

  /// Hands over the connection of a request that the gate lets in to be relayed, once; it is used for no
  /// other request then. As long as nothing was written to it, `respond` still answers, with no read pending.
  /// The headers are there until then.
  virtual Handover hand_over() = 0;

  /// Ends a connection that was handed over, all of the answer being written, with no read pending. To cut it
  /// off, close its socket.
  virtual void hang_up() = 0;

  /// Asks a source that said Later again. Does nothing at any other time.
  virtual void wake() = 0;

  /// Of the server that it came by.
  virtual const HttpCounters& counters() const = 0;

  /// Calls back, once, if the client leaves before it has all of the answer.
  virtual void on_abandoned(std::function<void()> callback) = 0;
};

class HttpListener;

/// HTTP/1.1 (RFC 9112) with persistent connections. Lives in the io_context's thread.
class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  /// What a request's head tells, before its body is read.
  struct Verdict {
    enum class Caller { Known, Unknown } caller;
    std::optional<HttpResponse> refusal;
    /// A whole body is read before the request is handled; a stream is left for Exchange::receive, and a
    /// relayed one for Exchange::hand_over.
    enum class Body { Whole, Stream, Relayed } body = Body::Whole;
    std::shared_ptr<const void> mark = nullptr;  ///< Kept until the request has been answered.
  };
  using Gate = std::function<Verdict(const HttpRequest&)>;
  /// Words the server's own refusals: a request that is malformed (400), too large (413) or has too large a
  /// header (431).
  using Refusal = std::function<HttpResponse(unsigned status)>;

  /// Listens at once. Throws boost::system::system_error where it cannot. When all connections are taken,
  /// one of a caller that has not made itself known is closed for the next.
  HttpServer(asio::io_context& io, const std::string& address, unsigned short port, Gate gate,
             Handler handler, Refusal refusal);
  ~HttpServer();

  /// The port listened on: the one asked for, or the one chosen where that was 0.
  unsigned short port() const;

 private:
  std::shared_ptr<HttpListener> listener_;
};

}  // namespace roombox
