#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/protocol/error.h"
#include "wasm/protocol/execution.h"
#include "wasm/protocol/stream.h"

/// Executions as bytes: what the agent sends to be kept, what the object keeps, and what the edge renders of
/// it. A record is a sequence of fields (fields.h); later ones override earlier ones of the same name:
///
///   id            the execution's id
///   mode          plain, stream or detach: what the caller of exec waited for
///   command       its text, or the name of a program
///   arguments     of a program that was named with its arguments: each of them and a NUL
///   attached      clients attached to it, of a running one
///   encoding      utf8 or base64: how its output is told
///   status        running, completed, timeout, cancelled or failed
///   exit_code     0–255
///   signal        the name of the signal that ended its shell
///   shell         the persistent shell that ran it
///   shell_exited  1 if that ended with it
///   oom           1 if it ended for want of memory
///   truncated     1 if a stream had more than is stored
///   started_ms    Unix time in milliseconds; so is finished_ms
///   duration_ms   by a clock that never jumps
///   total         bytes that both streams wrote together, stored or not
///   error_code    a name of error.h, of a failed one; so are the next two
///   error_message one sentence
///   error_detail  a field's name, NUL, what is wrong with it; one for each fault, after error_code
///   outcome       why it failed where its agent cannot say: a name of wasm/outcome.cpp
///   stdout        stored bytes; so is stderr
///   runs          how stored bytes of the two followed each other; see Runs
///
/// A *seed* is the mode, command, encoding and shell of a new execution; a record's *output* is stdout,
/// stderr and runs, its *head* all else. Absent fields have ExecutionView's defaults.
namespace roombox {

/// How the bytes of the two streams followed each other: the lengths of their runs as LEB128 varints, in turn
/// of stdout and of stderr, of stdout first (0 where stderr came first).
class Runs {
 public:
  /// Notes that a stream's next stored bytes came. To be called in the order of the log, and no more once a
  /// byte of it was not stored: from there on, positions in the log cannot be told.
  void add(Stream stream, std::size_t bytes);

  /// The record's `runs`; empty where it would take more than limits::kRuns bytes.
  std::string encoded() const;

 private:
  std::string closed_;  ///< The runs before the current one.
  Stream stream_ = Stream::Stdout;
  std::uint64_t current_ = 0;
  bool too_many_ = false;
};

/// Reads what Runs has encoded.
class RunReader {
 public:
  explicit RunReader(std::string_view encoded) : rest_(encoded) {}

  struct Run {
    Stream stream;
    std::uint64_t bytes;  ///< May be 0, and whatever damaged bytes say.
  };
  /// The next run; none at the end, or where the bytes are no number.
  std::optional<Run> next();

 private:
  std::string_view rest_;
  Stream stream_ = Stream::Stdout;
};

/// Appends the record's parts as fields.
void append_seed(std::string& out, const ExecutionView& execution);
void append_head(std::string& out, const ExecutionView& execution);
void append_output(std::string& out, const ExecutionView& execution);

/// The same without its output: of one that runs, for a list.
void append_head_frame(std::string& out, const ExecutionView& execution);

/// Appends the record as one frame, as the agent sends it:
/// `<id> <status> <head bytes> <output bytes>\n`, head, output.
void append_frame(std::string& out, const ExecutionView& execution);

/// A frame's parts, as views of its bytes.
struct Frame {
  std::string_view id;
  std::string_view status;
  std::string_view head;
  std::string_view output;
};

enum class FrameState {
  Whole,    ///< One was taken.
  Partial,  ///< What is there begins one; more must come.
  Damaged,  ///< No more bytes make a frame of it.
};

/// Takes the first frame off the bytes, if all of it is there; else leaves them.
FrameState take_frame(std::string_view& bytes, Frame& frame);

/// A record that is read. Whatever the bytes, it stays within them, and takes of them what is right.
class Record {
 public:
  /// Takes fields over what it has, which may be none, and borrows their bytes. False if something in them is
  /// no field, or no value of its field; what is right before and after it still counts.
  bool read(std::string_view fields);

  /// The execution; borrows from this object and from the bytes that were read. Its `error` is set where the
  /// record has an error_message.
  ExecutionView view() const;

  /// The object's reason for a failed one; empty where there is none.
  std::string_view outcome() const { return outcome_; }

 private:
  bool set(std::string_view name, std::string_view value);
  bool add_detail(std::string_view value);

  ExecutionView view_;  ///< Its `error` is not used.
  std::optional<Error> error_;
  std::string_view outcome_;
};

}  // namespace roombox
