#include "container/output_log.h"

#include <algorithm>
#include <cstring>

namespace roombox {
namespace {

/// Makes room for `more` bytes in what is to hold `most` at most. Once it is no longer small it gets all of
/// its room: pages that are not touched cost nothing, while growing step by step needs the old room beside
/// the new.
template <typename Bytes>
void make_room(Bytes& bytes, std::size_t more, std::size_t most) {
  constexpr std::size_t kSmall = 32;
  const std::size_t size = bytes.size() + more;
  if (size > most / kSmall && bytes.capacity() < most) bytes.reserve(most);
}

}  // namespace

void OutputLog::append(Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  store(stream, bytes);
  keep(stream, bytes);
}

void OutputLog::wake_readers() {
  ++waking_;  // a reader may end another, or add one, as it is woken
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i]) readers_[i]->wake_();
  }
  if (--waking_ == 0) std::erase(readers_, nullptr);
}

void OutputLog::store(Stream stream, std::string_view bytes) {
  std::string& stored = stored_[index(stream)];
  const std::string_view first = bytes.substr(0, caps_.stored - stored.size());
  make_room(stored, first.size(), caps_.stored);
  stored.append(first);
  if (!truncated_) stored_runs_.add(stream, first.size());
  if (first.size() < bytes.size()) truncated_ = true;
}

void OutputLog::keep(Stream stream, std::string_view bytes) {
  if (runs_.empty() || runs_.back().stream != stream) runs_.push_back({end_, stream});
  end_ += bytes.size();
  if (bytes.size() > caps_.kept) bytes.remove_prefix(bytes.size() - caps_.kept);
  const std::uint64_t from = end_ - bytes.size();
  if (end_ <= caps_.kept) {  // it has not come around, and need not be larger than what is in it
    make_room(ring_, bytes.size(), caps_.kept);
    ring_.insert(ring_.end(), bytes.begin(), bytes.end());
  } else {
    ring_.resize(caps_.kept);
    const std::size_t at = from % caps_.kept, first = std::min(bytes.size(), caps_.kept - at);
    std::memcpy(ring_.data() + at, bytes.data(), first);
    std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
    forget_before(end_ - caps_.kept);
  }
  if (runs_.size() > caps_.runs) forget_before(runs_[runs_.size() - caps_.runs].begin);
}

void OutputLog::forget_before(std::uint64_t position) {
  begin_ = std::max(begin_, position);
  while (runs_.size() > 1 && runs_[1].begin <= begin_) runs_.pop_front();
}

/// Index of the run that a position, which is before the end, is in.
std::size_t OutputLog::run_at(std::uint64_t position) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), position,
                                      [](std::uint64_t at, const Run& run) { return at < run.begin; });
  return static_cast<std::size_t>(after - runs_.begin()) - 1;
}

std::optional<OutputLog::Chunk> OutputLog::read(std::uint64_t at) const {
  if (at == end_) return std::nullopt;
  const std::size_t run = run_at(at);
  const std::uint64_t run_end = run + 1 < runs_.size() ? runs_[run + 1].begin : end_;
  const std::size_t place = at % caps_.kept;
  const std::size_t size = std::min<std::uint64_t>(run_end - at, ring_.size() - place);
  return Chunk{runs_[run].stream, {ring_.data() + place, size}};
}

std::string OutputLog::before(std::uint64_t at, Stream stream, std::size_t size) const {
  std::string bytes;
  for (std::uint64_t to = at; to > begin_ && bytes.size() < size;) {
    const std::size_t run = run_at(to - 1);
    std::uint64_t from = std::max(runs_[run].begin, begin_);
    if (runs_[run].stream == stream) {
      from = std::max(from, to - std::min<std::uint64_t>(to, size - bytes.size()));
      std::string part;
      for (std::uint64_t place = from; place < to; ++place) part += ring_[place % caps_.kept];
      bytes.insert(0, part);
    }
    to = from;
  }
  return bytes;
}

bool OutputLog::is_held() const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const LogReader* reader) { return reader && reader->holds(); });
}

LogReader::LogReader(OutputLog& log, std::uint64_t at, Pace pace, std::size_t behind,
                     std::function<void()> wake)
    : log_(log), at_(at), pace_(pace), behind_(behind), wake_(std::move(wake)) {
  log_.readers_.push_back(this);
}

LogReader::~LogReader() {
  const bool held = log_.is_held();
  std::replace(log_.readers_.begin(), log_.readers_.end(), this, static_cast<LogReader*>(nullptr));
  if (log_.waking_ == 0) std::erase(log_.readers_, nullptr);
  if (held && log_.released_) log_.released_();
}

std::optional<OutputLog::Chunk> LogReader::next(std::size_t size) {
  auto chunk = log_.read(at_);
  if (!chunk) return std::nullopt;
  chunk->bytes = chunk->bytes.substr(0, size);
  const bool held = holds();
  at_ += chunk->bytes.size();
  if (held && !holds() && log_.released_) log_.released_();
  return chunk;
}

void LogReader::set_pace(Pace pace) {
  const bool held = holds();
  pace_ = pace;
  if (held && !holds() && log_.released_) log_.released_();
}

}  // namespace roombox
