#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "container/asio.h"
#include "container/execution.h"
#include "container/http_server.h"

namespace roombox {

class RecordFeed;

/// Ended executions, until whoever keeps their records has stored them. Lives in the io_context's thread.
class Records {
 public:
  explicit Records(asio::io_context& io) : idle_(io) {}

  /// Keeps an ended execution, and tells the feed.
  void add(std::shared_ptr<Execution> execution);

  /// An execution that is kept, or null.
  std::shared_ptr<Execution> find(const std::string& id) const;

  /// Forgets those of the ids, one a line, that are kept.
  void forget(std::string_view ids);

  /// Whether so much output waits to be stored that no more may come.
  bool is_full() const;

  /// How many are kept, and the bytes of their output.
  std::size_t size() const { return executions_.size(); }
  std::size_t bytes() const { return bytes_; }

  /// Says how many executions run: a feed of an agent where none does, and nothing waits, ends after a while.
  void set_running(std::size_t count);

  /// The body of `GET /records`: a frame for each execution that is kept, and for each that comes. The feed
  /// that there was before ends: its reader is gone, or is about to be.
  std::shared_ptr<BodySource> open_feed(std::weak_ptr<Exchange> exchange);

 private:
  friend RecordFeed;
  using Number = std::uint64_t;

  void settle_idleness();

  std::map<Number, std::shared_ptr<Execution>> executions_;  ///< In the order of their ends.
  std::unordered_map<std::string, Number> numbers_;
  Number count_ = 0;
  std::size_t bytes_ = 0;  ///< Of their output.
  std::size_t running_ = 0;
  Timer idle_;
  std::shared_ptr<RecordFeed> feed_;
};

}  // namespace roombox
