#include "wasm/replay.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/edge/dice.h"
#include "tests/edge/sse_log.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/record.h"
#include "wasm/protocol/sse.h"

namespace roombox::edge {
namespace {

using sse::Event;
using sse::Log;
using sse::Texts;
using namespace std::string_view_literals;

const Error kLost = {ErrorCode::ExecutionFailed, "lost", {}};

/// A record that has all that was logged, and owns it.
struct Stored {
  explicit Stored(const Log& log) : bytes(sse::whole_bytes(log)) {
    Runs order;
    for (const sse::Piece& piece : log) order.add(piece.stream, piece.bytes.size());
    runs = order.encoded();
    view.id = "exec_1";
    view.status = Status::Completed;
    view.total = bytes[0].size() + bytes[1].size();
    view.out = bytes[0];
    view.err = bytes[1];
    view.runs = runs;
  }
  Stored(const Stored&) = delete;

  Texts bytes;
  std::string runs;
  ExecutionView view;
};

struct Replay {
  ReplayState state;
  std::string text;
};

Replay replay(const ExecutionView& view, std::uint64_t after) {
  Replay replay;
  replay.state = append_replay(replay.text, view, kLost, "sandbox-r", Dialect::Rooms, after);
  return replay;
}

Log random_log(Dice& dice) {
  Log log;
  for (std::size_t pieces = dice.below(8); pieces > 0; --pieces) {
    const Stream stream = dice.below(2) == 0 ? Stream::Stdout : Stream::Stderr;
    log.push_back({stream, random_bytes(dice, 1 + dice.below(12))});
  }
  return log;
}

/// What the agent tells of a log while it runs, cut by dice: events before the last.
std::vector<Event> live(const Log& log, Dice& dice, std::uint64_t& end) {
  sse::OutputEvents events(Encoding::Utf8);
  std::string out;
  std::uint64_t units = 1;
  for (const sse::Piece& piece : log) {
    std::string_view bytes = piece.bytes;
    while (!bytes.empty()) {
      const std::size_t size = 1 + dice.below(bytes.size());
      events.append(out, piece.stream, bytes.substr(0, size), units += size);
      bytes.remove_prefix(size);
    }
  }
  end = events.finish(out, units - 1);
  return sse::parse(out);
}

// Whatever was written, and wherever a client of the live stream left it: the stored record goes on from
// there.
TEST(Replay, GoesOnWhereALiveStreamBroke) {
  Dice dice;
  for (int round = 0; round < 300; ++round) {
    const Log log = random_log(dice);
    const Stored stored(log);
    const Texts expected = sse::whole_texts(log);
    std::uint64_t end = 0;
    const auto told = live(log, dice, end);
    Texts seen;
    for (std::size_t count = 0; count <= told.size(); ++count) {
      if (count > 0) add(seen, told[count - 1]);
      const std::uint64_t after = count == 0 ? 1 : told[count - 1].id;
      const Replay rest = replay(stored.view, after);
      ASSERT_EQ(rest.state, ReplayState::Told) << "round " << round << " after " << after;
      Texts texts = seen;
      const auto events = sse::parse(rest.text);
      for (const Event& event : events) add(texts, event);
      ASSERT_EQ(texts, expected) << "round " << round << " after " << after;
      ASSERT_EQ(events.back().name, "exit");
      ASSERT_EQ(events.back().id, end);
    }
    ASSERT_EQ(replay(stored.view, end).state, ReplayState::Over);
    ASSERT_EQ(replay(stored.view, end + 1).state, ReplayState::Lost);
    ASSERT_EQ(replay(stored.view, ~std::uint64_t{0}).state, ReplayState::Lost);
  }
}

TEST(Replay, TellsAllFromTheFirstEvent) {
  const Stored stored({{Stream::Stderr, "e1"}, {Stream::Stdout, "o1"}, {Stream::Stderr, "e2"}});
  const auto events = sse::parse(replay(stored.view, 0).text);
  ASSERT_EQ(events.size(), 5u);
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 5> kExpected = {
      {{1, "start"}, {3, "stderr"}, {5, "stdout"}, {7, "stderr"}, {8, "exit"}}};
  for (std::size_t index = 0; index < events.size(); ++index) {
    EXPECT_EQ(events[index].id, kExpected[index].first);
    EXPECT_EQ(events[index].name, kExpected[index].second);
  }
}

TEST(Replay, EndsAFailedExecutionWithItsError) {
  Stored stored({{Stream::Stdout, "o1"}});
  stored.view.status = Status::Failed;
  const auto events = sse::parse(replay(stored.view, 1).text);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].name, "error");
  EXPECT_EQ(events[1].data.at("error"), "lost");
}

TEST(Replay, NeverInventsTheEndOfARunningExecution) {
  Stored stored({{Stream::Stdout, "o1"}});
  stored.view.status = Status::Running;
  EXPECT_EQ(sse::parse(replay(stored.view, 0).text).size(), 2u);
}

TEST(Replay, CutsLongOutput) {
  const Stored stored({{Stream::Stdout, std::string(limits::kReplayedPiece * 2 + 1, 'x')}});
  const auto events = sse::parse(replay(stored.view, 1).text);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].id, limits::kReplayedPiece + 1);
  EXPECT_EQ(events[2].data.at("data"), "x");
}

TEST(Replay, TellsOneStreamInOrderWithoutRuns) {
  Stored stored({{Stream::Stderr, "abc€"}});
  stored.view.runs = {};
  const auto events = sse::parse(replay(stored.view, 5).text);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data.at("data"), "€");
}

// Where the order is not known, only all of it can be told.
TEST(Replay, TellsAllOrNothingWithoutRuns) {
  Stored stored({{Stream::Stderr, "e1"}, {Stream::Stdout, "o1"}, {Stream::Stderr, "e2"}});
  stored.view.runs = {};
  for (std::uint64_t after : {0, 1}) {
    Texts texts;
    const auto events = sse::parse(replay(stored.view, after).text);
    for (const Event& event : events) add(texts, event);
    EXPECT_EQ(texts, (Texts{"o1", "e1e2"}));
    EXPECT_EQ(events.back().id, 8u);
  }
  for (std::uint64_t after = 2; after < 7; ++after) {
    EXPECT_EQ(replay(stored.view, after).state, ReplayState::Lost) << after;
  }
  const auto last = sse::parse(replay(stored.view, 7).text);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].name, "exit");
  EXPECT_EQ(replay(stored.view, 8).state, ReplayState::Over);
}

TEST(Replay, TellsNothingTwiceWhereRunsAreDamaged) {
  Stored stored({{Stream::Stderr, "e1"}, {Stream::Stdout, "o1"}, {Stream::Stderr, "e2"}});
  for (std::string_view runs : {"\0\x02\x03"sv, "\0\x02\x02\x02\x01"sv, "\x80"sv, "\0\x02\x02\x05"sv,
                                "\x63"sv, "\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv}) {
    stored.view.runs = runs;
    Texts texts;
    for (const Event& event : sse::parse(replay(stored.view, 0).text)) add(texts, event);
    EXPECT_EQ(texts, (Texts{"o1", "e1e2"}));
  }
}

/// A megabyte of stdout, of which the last byte begins a character, and then more that is not stored; stderr
/// wrote before and after the store was full.
ExecutionView truncated(const std::string& out) {
  ExecutionView view;
  view.id = "exec_1";
  view.status = Status::Completed;
  view.truncated = true;
  view.out = out;
  view.err = "e1e2";
  view.total = out.size() + 1000;
  return view;
}

TEST(Replay, TellsWhatIsStoredOfATruncatedExecution) {
  const std::string out = std::string(limits::kStoredOutput - 1, 'x') + "\xE2";
  ExecutionView view = truncated(out);
  Runs runs;
  runs.add(Stream::Stderr, 2);
  runs.add(Stream::Stdout, out.size());
  const std::string order = runs.encoded();
  view.runs = order;
  const std::uint64_t known = out.size() + 2;
  for (std::uint64_t after : {0, 1}) {
    Texts texts;
    const auto events = sse::parse(replay(view, after).text);
    for (const Event& event : events) add(texts, event);
    EXPECT_TRUE(texts[0] == std::string(limits::kStoredOutput - 1, 'x')) << after << " " << texts[0].size();
    EXPECT_EQ(texts[1], "e1e2") << after;
    EXPECT_EQ(events.back().name, "exit");
    EXPECT_EQ(events.back().id, view.total + 2);
  }
  // Who has seen some of it would not see where the gap is.
  for (std::uint64_t after : {std::uint64_t{2}, std::uint64_t{3}, known - 1, known + 1})
    EXPECT_EQ(replay(view, after).state, ReplayState::Lost) << after;
  EXPECT_EQ(replay(view, known + 2).state, ReplayState::Lost);
  EXPECT_EQ(replay(view, view.total).state, ReplayState::Lost);
  EXPECT_EQ(sse::parse(replay(view, view.total + 1).text).size(), 1u);
  EXPECT_EQ(replay(view, view.total + 2).state, ReplayState::Over);
}

TEST(Replay, WritesBase64) {
  Stored stored({{Stream::Stdout, "\xE2"}, {Stream::Stderr, "x"}, {Stream::Stdout, "\x82\xAC"}});
  stored.view.encoding = Encoding::Base64;
  const auto events = sse::parse(replay(stored.view, 2).text);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].data.at("data"), "eA==");
  EXPECT_EQ(events[1].data.at("data"), "gqw=");
  EXPECT_EQ(events[2].id, 6u);
}

}  // namespace
}  // namespace roombox::edge
