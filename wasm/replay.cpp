#include "wasm/replay.h"

#include <algorithm>
#include <array>
#include <vector>

#include "wasm/protocol/fields.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/record.h"
#include "wasm/protocol/sse.h"
#include "wasm/protocol/utf8.h"

namespace roombox::edge {
namespace {

struct Piece {
  Stream stream;
  std::string_view bytes;
};

constexpr std::array<Stream, 2> kStreams = {Stream::Stdout, Stream::Stderr};

std::string_view stored(const ExecutionView& execution, Stream stream) {
  return stream == Stream::Stdout ? execution.out : execution.err;
}

/// What is stored of a log, in order.
class StoredLog {
 public:
  explicit StoredLog(const ExecutionView& execution)
      : total_(execution.total), truncated_(execution.truncated) {
    for (const Stream stream : kStreams) rest_[index(stream)] = stored(execution, stream);
    take_runs(execution.runs);
    if (known_ == 0 && (execution.out.empty() || execution.err.empty())) {
      known_ = execution.out.size() + execution.err.size();  // of one stream, there is one order
    }
    for (const Stream stream : kStreams) take(stream, rest_[index(stream)].size());
    const std::uint64_t all = execution.out.size() + execution.err.size();
    complete_ = !execution.truncated && known_ == all && total_ == all;
  }

  const std::vector<Piece>& pieces() const { return pieces_; }

  /// Bytes from the first on whose places are known.
  std::uint64_t known() const { return known_; }

  /// Whether all bytes that were logged are here, each in its place.
  bool complete() const { return complete_; }

  std::uint64_t total() const { return total_; }

  /// Whether what is stored has gaps.
  bool truncated() const { return truncated_; }

 private:
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

  void take(Stream stream, std::size_t size) {
    std::string_view& rest = rest_[index(stream)];
    if (size > 0) pieces_.push_back({stream, rest.substr(0, size)});
    rest.remove_prefix(size);
  }

  /// Up to a run that is longer than what is stored, which only damage makes.
  void take_runs(std::string_view runs) {
    RunReader reader(runs);
    while (const auto run = reader.next()) {
      if (run->bytes > rest_[index(run->stream)].size()) return;
      take(run->stream, static_cast<std::size_t>(run->bytes));
      known_ += run->bytes;
    }
  }

  std::array<std::string_view, 2> rest_;
  std::vector<Piece> pieces_;
  std::uint64_t known_ = 0;
  std::uint64_t total_;
  bool truncated_;
  bool complete_ = false;
};

/// Where a reader goes on, in terms of the log's units.
enum class Place { Output, End, Over, Unknown };

Place place_of(std::uint64_t after, const StoredLog& log) {
  constexpr std::uint64_t kTails = 2;  // units of streams that end in the middle of a character, at most
  const std::uint64_t all = sse::kStartId + log.total();
  // Who has seen something is to get all that follows; the beginning alone is told as what it is.
  if (log.truncated() && after > sse::kStartId && after < all) return Place::Unknown;
  if (after <= sse::kStartId + log.known()) return Place::Output;
  if (after == all) return Place::End;
  if (after < all || after > all + kTails + 1) return Place::Unknown;
  return log.complete() ? Place::End : Place::Over;
}

/// Writes the events of a log's pieces after an id.
class Replayer {
 public:
  Replayer(std::string& out, const ExecutionView& execution) : out_(out), events_(execution.encoding) {}

  void tell(const Piece& piece, std::uint64_t after) {
    std::string_view bytes = piece.bytes;
    const auto seen =
        static_cast<std::size_t>(std::min<std::uint64_t>(after > units_ ? after - units_ : 0, bytes.size()));
    if (seen > 0) events_.prime(piece.stream, remember(piece.stream, bytes.substr(0, seen)));
    bytes.remove_prefix(seen);
    units_ += seen;
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, limits::kReplayedPiece);
      bytes.remove_prefix(part.size());
      units_ += part.size();
      events_.append(out_, piece.stream, part, units_);
    }
  }

  /// Forgets the beginning of a character with which the store of a stream ended: what came after it is not
  /// known, so it is no broken character either.
  void drop_cut(Stream stream) { events_.prime(stream, {}); }

  std::uint64_t finish(std::uint64_t total, std::uint64_t after) {
    return events_.finish(out_, total, after);
  }

 private:
  /// The last bytes of what a stream has brought so far.
  std::string_view remember(Stream stream, std::string_view more) {
    constexpr std::size_t kEnough = 3;
    std::string& last = last_[static_cast<std::size_t>(stream)];
    last.append(more.substr(more.size() - std::min(more.size(), kEnough)));
    if (last.size() > kEnough) last.erase(0, last.size() - kEnough);
    return last;
  }

  std::string& out_;
  sse::OutputEvents events_;
  std::uint64_t units_ = sse::kStartId;
  std::array<std::string, 2> last_;
};

/// As many bytes as all events take, or somewhat more: they must not grow, with the memory that a Worker has.
std::size_t size_of_events(const ExecutionView& execution, std::string_view sandbox_name,
                           const StoredLog& log) {
  constexpr std::size_t kEvent = 80;  // more than all of an event but its data
  ExecutionView output = execution;
  output.command = {};
  const std::size_t stored = execution.out.size() + execution.err.size();
  const std::size_t events = log.pieces().size() + stored / limits::kReplayedPiece + 4;
  return rendered_size(execution, sandbox_name) + rendered_size(output, sandbox_name) + events * kEvent;
}

}  // namespace

ReplayState append_replay(std::string& out, const ExecutionView& execution, const Error& error,
                          std::string_view sandbox_name, Dialect dialect, std::uint64_t after) {
  const StoredLog log(execution);
  const Place place = place_of(after, log);
  if (place == Place::Over) return ReplayState::Over;
  if (place == Place::Unknown) return ReplayState::Lost;
  out.reserve(out.size() + size_of_events(execution, sandbox_name, log));
  if (after < sse::kStartId) sse::append_start(out, execution.id, sandbox_name, dialect);
  Replayer replayer(out, execution);
  if (place == Place::Output || log.complete()) {
    for (const Piece& piece : log.pieces()) replayer.tell(piece, after);
  }
  for (const Stream stream : kStreams) {
    const bool full = stored(execution, stream).size() == limits::kStoredOutput;
    if (execution.truncated && full) replayer.drop_cut(stream);
  }
  const std::uint64_t end = replayer.finish(log.total(), after);
  if (after == end) return ReplayState::Over;
  if (after > end) return ReplayState::Lost;
  if (execution.status == Status::Running) return ReplayState::Told;
  if (execution.status == Status::Failed) {
    sse::append_error(out, end, error, dialect);
  } else {
    sse::append_exit(out, end, execution, sandbox_name, dialect);
  }
  return ReplayState::Told;
}

ReplayState append_lost_replay(std::string& out, const ExecutionView& execution, const Error& error,
                               std::string_view sandbox_name, Dialect dialect, std::uint64_t after) {
  if (after == sse::kLostId) return ReplayState::Over;
  if (after > sse::kLostId) return ReplayState::Lost;
  if (after < sse::kStartId) sse::append_start(out, execution.id, sandbox_name, dialect);
  sse::append_error(out, sse::kLostId, error, dialect);
  return ReplayState::Told;
}

namespace {

void append_close(FieldWriter& messages, attach::CloseCode code, std::string_view reason) {
  constexpr std::size_t kLongest = 123;  // RFC 6455, 5.5
  std::string close = std::to_string(static_cast<unsigned>(code));
  messages.text("close", close.append(" ").append(utf8::prefix(reason, kLongest)));
}

void append_pieces(FieldWriter& messages, const StoredLog& log, std::uint64_t seen, attach::Framing framing) {
  for (const Piece& piece : log.pieces()) {
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(seen, piece.bytes.size()));
    std::string_view bytes = piece.bytes.substr(skipped);
    seen -= skipped;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), limits::kReplayedPiece))) {
      const std::string_view part = bytes.substr(0, limits::kReplayedPiece);
      const bool raw = framing == attach::Framing::Raw;
      messages.text("binary", raw ? std::string(part) : attach::output_message(piece.stream, part));
    }
  }
}

}  // namespace

ReplayState append_attached(std::string& out, const ExecutionView& execution, const Error& error, Log kept,
                            attach::Framing framing, std::string_view sandbox_name, Dialect dialect,
                            std::uint64_t after) {
  const StoredLog log(execution);
  const Place place = kept == Log::Lost ? Place::Output : place_of(after, log);
  if (place == Place::Unknown) return ReplayState::Lost;
  const bool channels = framing == attach::Framing::Channels;
  const std::uint64_t seen = after < sse::kStartId ? 0 : after - sse::kStartId;
  FieldWriter messages(out);
  if (channels && dialect == Dialect::Rooms) {
    messages.text("text", attach::start_message(
                              execution.id, sandbox_name, seen + sse::kStartId,
                              execution.truncated ? attach::Replay::Truncated : attach::Replay::Whole));
  }
  if (place == Place::Output) append_pieces(messages, log, seen, framing);
  if (channels) messages.text("binary", attach::replay_end_message());
  const bool has_exit = execution.status != Status::Failed && execution.exit_code;
  if (has_exit && channels) messages.text("binary", attach::exit_message(*execution.exit_code));
  has_exit ? append_close(messages, attach::CloseCode::Normal, {})
           : append_close(messages, attach::CloseCode::Failed, summary(error));
  return ReplayState::Told;
}

}  // namespace roombox::edge
