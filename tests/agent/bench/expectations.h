#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "tests/agent/bench/connection.h"
#include "wasm/protocol/record.h"

namespace roombox::bench {

/// The records that are to come, and what each must say.
class Expectations {
 public:
  struct Expected {
    std::string status;
    int exit_code;
    std::optional<std::string> out = {};            ///< Its whole stdout, where that can be told.
    std::optional<Clock::time_point> left_at = {};  ///< When its client left.
  };

  void add(const std::string& id, Expected expected);
  void note_leaving(const std::string& id);

  /// Throws where a record is not as expected, or was not expected.
  void settle(const Frame& frame);

  /// Waits until all have come. Throws after the patience.
  void await_all(std::chrono::seconds patience);

  /// How long the slowest of those whose client left took to be told of.
  std::chrono::milliseconds slowest_leaving() const { return slowest_leaving_; }

 private:
  std::mutex mutex_;
  std::condition_variable settled_;
  std::unordered_map<std::string, Expected> awaited_;
  std::atomic<std::chrono::milliseconds> slowest_leaving_{};
};

/// Reads `GET /records` as the room's object does, holds each record against what is expected, and has the
/// agent forget it.
class RecordsReader {
 public:
  /// @param on_failure called once, from the reader's thread, where a record is wrong
  RecordsReader(std::uint16_t port, Expectations& expectations, std::function<void(std::string)> on_failure);
  ~RecordsReader();

 private:
  void run();
  void read_feed(Connection& stored);
  void replace_feed(Connection* feed);

  const std::uint16_t port_;
  Expectations& expectations_;
  std::function<void(std::string)> on_failure_;
  std::mutex mutex_;
  Connection* feed_ = nullptr;  ///< What the thread reads from.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace roombox::bench
