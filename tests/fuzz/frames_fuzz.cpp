// The first byte says at what places the others are cut: frames of records, or what a record is made of.
// Whatever they are, frames and fields stay within them and are the same wherever they were cut; what was
// read of a record writes one that reads the same; and a client that replays it is told bytes of it in fields
// that are whole.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wasm/protocol/fields.h"
#include "wasm/protocol/record.h"
#include "wasm/replay.h"

namespace {

using namespace roombox;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

bool same(const Frame& a, const Frame& b) {
  return a.id == b.id && a.status == b.status && a.head == b.head && a.output == b.output;
}

/// Fields that are read are those that were written, whatever comes behind them.
void check_fields(std::string_view bytes) {
  FieldReader reader(bytes);
  std::string written;
  std::size_t count = 0;
  while (const auto field = reader.next()) {
    require(is_within(field->name, bytes) && is_within(field->value, bytes));
    const std::size_t before = written.size();
    FieldWriter(written).text(field->name, field->value);
    require(written.size() - before == field_size(field->name, field->value));
    ++count;
  }
  require(!reader.next());
  FieldReader again(written);
  for (; count > 0; --count) require(again.next().has_value());
  require(!again.next() && !again.damaged());
}

void check_runs(std::string_view runs) {
  RunReader reader(runs);
  std::size_t count = 0;
  while (reader.next()) require(++count <= runs.size());
}

/// Framing and dialect do not change what is told, but how.
void check_replay(const ExecutionView& view, std::uint64_t after) {
  const Error error{ErrorCode::Internal, "it failed", {}};
  std::string events, channels, raw;
  const auto told =
      edge::append_replay(events, view, view.error ? *view.error : error, "sandbox-r", Dialect::Rooms, after);
  const auto attached = edge::append_attached(channels, view, error, edge::Log::Stored,
                                              attach::Framing::Channels, "sandbox-r", Dialect::Rooms, after);
  (void)edge::append_attached(raw, view, error, edge::Log::Stored, attach::Framing::Raw, "sandbox-r",
                              Dialect::Sdk, after);
  require(told == edge::ReplayState::Told || events.empty());
  require(attached == edge::ReplayState::Told || channels.empty());
  for (const auto& messages : {channels, raw}) {
    FieldReader reader(messages);
    while (reader.next()) {
    }
    require(!reader.damaged());
  }
}

bool is_word(std::string_view id) {
  return id.size() <= 64 && id.find_first_of(" \n") == id.npos;
}

/// @param after an event that its reader has seen
void check_record(std::string_view fields, std::uint64_t after) {
  Record record;
  const bool right = record.read(fields);
  const ExecutionView view = record.view();
  for (const auto part : {view.id, view.command, view.arguments, view.out, view.err, view.runs, view.shell})
    require(is_within(part, fields));
  check_runs(view.runs);
  check_replay(view, after);
  check_replay(view, 0);
  if (!right || !is_word(view.id)) return;
  std::string once;
  append_frame(once, view);
  std::string_view rest = once;
  Frame frame;
  require(take_frame(rest, frame) == FrameState::Whole && rest.empty() && frame.id == view.id);
  Record again;
  require(again.read(frame.head) && again.read(frame.output));
  std::string twice;
  append_frame(twice, again.view());
  require(once == twice);
}

/// What is taken of the bytes as a whole is taken of them as they come, piece by piece.
void check_frames(std::string_view bytes, std::size_t piece) {
  std::string_view whole = bytes;
  std::size_t come = 0, taken = 0;
  for (Frame frame, cut;;) {
    const FrameState state = take_frame(whole, frame);
    require(is_within(frame.head, bytes) && is_within(frame.output, bytes));
    std::string_view part;
    FrameState cut_state;
    for (;;) {
      part = bytes.substr(taken, come - taken);
      cut_state = take_frame(part, cut);
      if (cut_state != FrameState::Partial || come == bytes.size()) break;
      come = std::min(come + piece, bytes.size());
    }
    require(cut_state == state);
    if (state != FrameState::Whole) return;
    require(same(frame, cut));
    taken = come - part.size();
    require(taken == bytes.size() - whole.size());
    check_record(frame.head, 0);
    check_record(frame.output, 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] < 0x80) {
    check_frames(rest, data[0] % 64u + 1);
  } else {
    check_fields(rest);
    check_record(rest, data[0] % 64u);
  }
  return 0;
}
