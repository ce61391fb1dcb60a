#include "container/event_stream.h"

#include <algorithm>

#include "container/limits.h"

namespace roombox {
namespace {

/// Bytes that can begin a UTF-8 character without ending it.
constexpr std::size_t kHeldBack = 3;

}  // namespace

/// The log's position after an event, whose sequence number counts the start before the bytes and the end
/// after them.
std::uint64_t EventStream::position_after(const OutputLog& log, std::uint64_t sequence) {
  return sequence < sse::kStartId ? log.begin() : std::min(sequence - sse::kStartId, log.end());
}

/// Restores what an earlier connection held back of characters when its last event was the one before `at`.
void EventStream::prime(sse::OutputEvents& events, const OutputLog& log, std::uint64_t at) {
  for (const auto stream : {Stream::Stdout, Stream::Stderr})
    events.prime(stream, log.before(at, stream, kHeldBack));
}

EventStream::EventStream(asio::io_context& io, std::shared_ptr<Execution> execution, Client client,
                         std::uint64_t after, LogReader::Pace pace)
    : execution_(std::move(execution)),
      client_(std::move(client)),
      after_(after),
      events_(execution_->encoding()),
      wake_(io,
            [this] {
              if (const auto exchange = client_.exchange.lock()) exchange->wake();
            }),
      reader_(execution_->log(), position_after(execution_->log(), after), pace, limits::kStreamBehind,
              [this] { wake_(); }),
      started_(after > 0),
      ping_(io) {
  if (after > 0) prime(events_, execution_->log(), reader_.at());
  from_cut_.fill(after == 0 && reader_.at() > 0);
}

EventStream::Rest EventStream::rest_after(const Execution& execution, std::uint64_t after) {
  const auto& log = execution.log();
  if (after == 0) return Rest::Kept;
  if (execution.has_ended()) {
    sse::OutputEvents events(execution.encoding());
    prime(events, log, log.end());
    std::string unused;
    const auto last = events.finish(unused, log.end());
    if (after >= last) return after == last ? Rest::None : Rest::Lost;
  } else if (after - sse::kStartId > log.end()) {
    return Rest::Lost;
  }
  return position_after(log, after) >= log.begin() ? Rest::Kept : Rest::Lost;
}

void EventStream::start() {
  ping_.expires_after(limits::kPing);
  ping_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self) return;
    self->ping();
    self->start();
  });
}

void EventStream::ping() {
  ping_due_ = std::exchange(silent_, true);
  if (!ping_due_) return;
  if (const auto exchange = client_.exchange.lock()) exchange->wake();
}

BodySource::Next EventStream::fill(std::string& out) {
  const std::size_t before = out.size();
  if (!std::exchange(started_, true)) {
    sse::append_start(out, execution_->id(), client_.sandbox, client_.dialect);
  }
  if (reader_.lost()) return Next::Break;
  if (fill_output(out)) return Next::Now;
  if (execution_->has_ended()) {
    fill_end(out);
    return Next::End;
  }
  if (std::exchange(ping_due_, false) && out.size() == before) {
    out += sse::kPing;
  } else if (out.size() > before) {
    silent_ = false;
  }
  return Next::Later;
}

/// Appends a fill's share of the output; whether there is more.
bool EventStream::fill_output(std::string& out) {
  for (const std::size_t full = out.size() + limits::kStreamFill; out.size() < full;) {
    auto chunk = reader_.next(limits::kReadChunk);
    if (!chunk) return false;
    skip_cut_character(*chunk);
    events_.append(out, chunk->stream, chunk->bytes, sse::kStartId + reader_.at());
  }
  silent_ = false;
  return true;
}

void EventStream::fill_end(std::string& out) {
  const auto id = events_.finish(out, execution_->log().end(), after_);
  if (const auto& error = execution_->error()) {
    sse::append_error(out, id, *error, client_.dialect);
  } else {
    sse::append_exit(out, id, execution_->view(), client_.sandbox, client_.dialect);
  }
}

/// Where older output is gone, a stream's first bytes may be the end of a character.
void EventStream::skip_cut_character(OutputLog::Chunk& chunk) {
  bool& from_cut = from_cut_[static_cast<std::size_t>(chunk.stream)];
  if (!std::exchange(from_cut, false) || execution_->encoding() == Encoding::Base64) return;
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  std::size_t cut = 0;
  while (cut < std::min(chunk.bytes.size(), kHeldBack) && continues(chunk.bytes[cut])) ++cut;
  chunk.bytes.remove_prefix(cut);
}

}  // namespace roombox
