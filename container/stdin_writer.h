#pragma once

#include <deque>
#include <functional>
#include <string>

#include "container/asio.h"
#include "container/sys/fd.h"

namespace roombox {

/// Writes to a command's stdin as it reads. Lives in the io_context's thread.
class StdinWriter : public std::enable_shared_from_this<StdinWriter> {
 public:
  enum class Outcome {
    Written,
    Closed,  ///< The command, or all that held its stdin, does not read any more.
    Full,    ///< Too much waits to be read: try when some of it was.
  };
  using Handler = std::function<void(Outcome)>;

  /// @param pipe the write end, non-blocking
  StdinWriter(asio::io_context& io, sys::Fd pipe);

  /// Queues bytes; calls back, from the io_context, when the pipe has taken them all, or none or some of them
  /// and will take no more. False where none are taken.
  /// @param done may be null
  bool write(std::string bytes, Handler done);

  /// Ends the command's input after what is queued. Nothing can be written afterwards.
  void close();

  /// Ends it at once; for the end of the execution.
  void abort();

  /// Bytes that wait to be read.
  std::size_t queued() const { return queued_ - written_; }

  /// Whether nothing more can be written.
  bool is_closed() const { return closing_ || !pipe_.is_open(); }

 private:
  struct Write {
    std::string bytes;
    Handler done;
  };
  void pump();
  void finish(Outcome outcome);
  void tell(Handler done, Outcome outcome);

  asio::io_context& io_;
  Descriptor pipe_;
  std::deque<Write> queue_;
  std::size_t queued_ = 0;   ///< Bytes, without what was written of the first.
  std::size_t written_ = 0;  ///< Of the first.
  bool waiting_ = false;
  bool closing_ = false;
};

}  // namespace roombox
