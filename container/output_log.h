#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/record.h"
#include "wasm/protocol/stream.h"

namespace roombox {

class LogReader;

/// What an execution has written, as one sequence of bytes in the order of arrival, each of one of its two
/// streams. A position is the number of bytes before it. Keeps the first bytes of each stream for the record
/// and the last ones of all for readers; memory is bounded whatever is appended and whoever reads.
///
/// One writer, the execution. Readers have no queue of their own but a place in what is kept, so replay and
/// live output are one thing, and a slow reader costs nothing.
class OutputLog {
 public:
  struct Caps {
    std::size_t stored;  ///< Bytes kept of the beginning of each stream.
    std::size_t kept;    ///< Bytes kept of the end of all that was written.
    std::size_t runs;    ///< Changes from one stream to the other kept with those.
  };

  /// A run of bytes of one stream; valid until the next append.
  struct Chunk {
    Stream stream;
    std::string_view bytes;
  };

  explicit OutputLog(Caps caps) : caps_(caps) {}
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;

  /// Appends. Readers are told once the writer has appended what it has: by wake_readers.
  void append(Stream stream, std::string_view bytes);

  /// Tells the readers that there is more: bytes, or the end.
  void wake_readers();

  /// The first bytes of a stream, without a gap; valid until the next append.
  std::string_view stored(Stream stream) const { return stored_[index(stream)]; }

  /// How the stored bytes were interleaved, up to the first that is not stored.
  std::string stored_runs() const { return stored_runs_.encoded(); }

  /// Whether a stream had more bytes than are stored.
  bool truncated() const { return truncated_; }

  /// The positions between which bytes can be read.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// The bytes of one stream from a position on, up to its next run or less; none at the end.
  /// Precondition: begin() <= at <= end().
  std::optional<Chunk> read(std::uint64_t at) const;

  /// The last bytes of a stream before a position, at most `size` and no more than are kept.
  std::string before(std::uint64_t at, Stream stream, std::size_t size) const;

  /// Whether a reader that the writer waits for is so far behind that it must not append now.
  bool is_held() const;

  /// Called when is_held() may have ended.
  void on_released(std::function<void()> callback) { released_ = std::move(callback); }

 private:
  friend LogReader;

  struct Run {
    std::uint64_t begin;
    Stream stream;
  };
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

  void store(Stream stream, std::string_view bytes);
  void keep(Stream stream, std::string_view bytes);
  void forget_before(std::uint64_t position);
  std::size_t run_at(std::uint64_t position) const;

  const Caps caps_;
  std::array<std::string, 2> stored_;
  bool truncated_ = false;
  Runs stored_runs_;

  std::vector<char> ring_;  ///< Byte p is at p % kept; grows up to that size.
  std::deque<Run> runs_;    ///< In order; each ends where the next begins.
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;

  std::vector<LogReader*> readers_;  ///< Null where one ended while all were being woken.
  int waking_ = 0;
  std::function<void()> released_;
};

/// One reader's place in a log, which must outlive it.
class LogReader {
 public:
  enum class Pace {
    Writer,  ///< Never waited for: what it has not read in time is gone for it.
    Reader,  ///< The writer waits for it.
  };

  /// @param at     where it begins to read, between begin() and end() of the log
  /// @param behind bytes that a writer which waits may be ahead
  /// @param wake   called by wake_readers; must not end this reader
  LogReader(OutputLog& log, std::uint64_t at, Pace pace, std::size_t behind, std::function<void()> wake);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// The next bytes, at most `size`; none where there are none yet. Precondition: not lost().
  std::optional<OutputLog::Chunk> next(std::size_t size);

  /// Has the writer wait for it from now on, or not.
  void set_pace(Pace pace);

  /// Whether the writer waits for it now.
  bool holds() const { return pace_ == Pace::Reader && log_.end() - at_ >= behind_; }

  /// The position that it reads from.
  std::uint64_t at() const { return at_; }

  /// Whether bytes it had not read are no longer kept.
  bool lost() const { return at_ < log_.begin(); }

 private:
  friend OutputLog;

  OutputLog& log_;
  std::uint64_t at_;
  Pace pace_;
  const std::size_t behind_;
  std::function<void()> wake_;
};

}  // namespace roombox
