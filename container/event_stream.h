#pragma once

#include <array>
#include <memory>
#include <string>

#include "container/deferred.h"
#include "container/execution.h"
#include "container/http_server.h"
#include "wasm/protocol/sse.h"

namespace roombox {

/// The server-sent events of one execution for one client: from its start, or from where the client lost the
/// line, to its end.
class EventStream : public BodySource, public std::enable_shared_from_this<EventStream> {
 public:
  struct Client {
    std::weak_ptr<Exchange> exchange;
    std::string sandbox;  ///< Name of the sandbox, for the events.
    Dialect dialect;
  };

  /// @param after the sequence number of the last event that the client has; 0 for none. What
  ///              follows must be kept still: see rest_after.
  /// @param pace  Reader for the client that the execution was started by and for, Writer for others
  EventStream(asio::io_context& io, std::shared_ptr<Execution> execution, Client client, std::uint64_t after,
              LogReader::Pace pace);

  /// Begins to wake the exchange. Once, after construction.
  void start();

  Next fill(std::string& out) override;

  /// What there is for a client that has an event.
  enum class Rest {
    Kept,  ///< All that follows it, or will.
    Lost,  ///< Some of what follows is gone, or there never was such an event.
    None,  ///< Nothing follows: it has the end.
  };
  static Rest rest_after(const Execution& execution, std::uint64_t after);

  /// The log's place after an event, of which `rest_after` says that what follows is kept; after none, the
  /// first that is kept.
  static std::uint64_t position_after(const OutputLog& log, std::uint64_t sequence);

 private:
  void ping();
  bool fill_output(std::string& out);
  void fill_end(std::string& out);
  void skip_cut_character(OutputLog::Chunk& chunk);
  static void prime(sse::OutputEvents& events, const OutputLog& log, std::uint64_t at);

  const std::shared_ptr<Execution> execution_;
  const Client client_;
  const std::uint64_t after_;
  sse::OutputEvents events_;
  Deferred wake_;
  LogReader reader_;
  bool started_;                  ///< The start has been told.
  std::array<bool, 2> from_cut_;  ///< Of a stream: it begins where older output is gone.
  bool silent_ = false;           ///< Nothing was sent since the last look.
  bool ping_due_ = false;
  Timer ping_;
};

}  // namespace roombox
