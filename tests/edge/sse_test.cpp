#include "wasm/protocol/sse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/edge/dice.h"
#include "tests/edge/sse_log.h"

namespace roombox::sse {
namespace {

using namespace std::string_view_literals;

/// What is written of a log from a unit on, cut anew by dice where there are any.
std::string written(const Log& log, Encoding encoding, std::uint64_t after, Dice* dice) {
  OutputEvents events(encoding);
  std::string out;
  std::array<std::string, 2> before;
  std::uint64_t units = 1;
  bool begun = false;
  for (const Piece& piece : log) {
    std::string_view bytes = piece.bytes;
    const auto seen =
        static_cast<std::size_t>(std::min<std::uint64_t>(after > units ? after - units : 0, bytes.size()));
    before[static_cast<std::size_t>(piece.stream)] += bytes.substr(0, seen);
    bytes.remove_prefix(seen);
    units += seen;
    if (bytes.empty()) continue;
    if (!begun) {
      for (const Stream stream : {Stream::Stdout, Stream::Stderr}) {
        const std::string& past = before[static_cast<std::size_t>(stream)];
        events.prime(stream,
                     std::string_view(past).substr(past.size() - std::min<std::size_t>(past.size(), 3)));
      }
      begun = true;
    }
    while (!bytes.empty()) {
      const std::size_t size = dice ? 1 + dice->below(bytes.size()) : bytes.size();
      units += size;
      events.append(out, piece.stream, bytes.substr(0, size), units);
      bytes.remove_prefix(size);
    }
  }
  if (!begun) {
    for (const Stream stream : {Stream::Stdout, Stream::Stderr}) {
      events.prime(stream, before[static_cast<std::size_t>(stream)]);
    }
  }
  const std::uint64_t end = events.finish(out, units - 1, after);
  EXPECT_GE(end, units + 1);
  EXPECT_LE(end, units + 3);
  return out;
}

TEST(Sse, WritesTheFirstEvent) {
  std::string out;
  append_start(out, "exec_1", "sandbox-r", Dialect::Rooms);
  append_start(out, "exec_1", "sandbox-r", Dialect::V1);
  EXPECT_EQ(out,
            "id: 1\nevent: start\ndata: {\"id\":\"exec_1\",\"sandboxName\":\"sandbox-r\"}\n\n"
            "id: 1\nevent: start\ndata: {\"id\":\"exec_1\",\"sandbox_id\":\"r\"}\n\n");
}

TEST(Sse, WritesTheLastEvent) {
  ExecutionView view;
  view.id = "exec_1";
  view.out = "a\nb";
  for (const Dialect dialect : {Dialect::Rooms, Dialect::V1}) {
    std::string out;
    append_exit(out, 7, view, "sandbox-r", dialect);
    EXPECT_EQ(out, "id: 7\nevent: exit\ndata: " + render(view, "sandbox-r", dialect) + "\n\n");
    out.clear();
    const Error error = {ErrorCode::ExecutionFailed, "why\nnot", {}};
    append_error(out, 8, error, dialect);
    EXPECT_EQ(out, "id: 8\nevent: error\ndata: " + render(error, dialect) + "\n\n");
    EXPECT_EQ(parse(out).size(), 1u);
  }
}

TEST(Sse, WritesOutput) {
  OutputEvents events(Encoding::Utf8);
  std::string out;
  events.append(out, Stream::Stdout, "a\n\"é\"\r\n", 9);
  events.append(out, Stream::Stderr, "", 9);
  events.append(out, Stream::Stderr, "\0\xFF"sv, 11);
  EXPECT_EQ(events.finish(out, 10), 12u);
  EXPECT_EQ(out,
            "id: 9\nevent: stdout\ndata: {\"data\":\"a\\n\\\"é\\\"\\r\\n\"}\n\n"
            "id: 11\nevent: stderr\ndata: {\"data\":\"\\u0000\xEF\xBF\xBD\"}\n\n");
}

TEST(Sse, WritesBase64OfEveryPiece) {
  OutputEvents events(Encoding::Base64);
  std::string out;
  events.prime(Stream::Stdout, "\xE2\x82");
  events.append(out, Stream::Stdout, "\xE2", 2);
  events.append(out, Stream::Stdout, "\x82\xAC\n", 5);
  EXPECT_EQ(events.finish(out, 4), 6u);
  EXPECT_EQ(out,
            "id: 2\nevent: stdout\ndata: {\"data\":\"4g==\"}\n\n"
            "id: 5\nevent: stdout\ndata: {\"data\":\"gqwK\"}\n\n");
}

TEST(Sse, DeliversASplitCharacterWhole) {
  OutputEvents events(Encoding::Utf8);
  std::string out;
  events.append(out, Stream::Stdout, "a\xF0", 3);
  events.append(out, Stream::Stdout, "\x9F", 4);
  events.append(out, Stream::Stderr, "\xC3", 5);
  events.append(out, Stream::Stdout, "\x98", 6);
  events.append(out, Stream::Stderr, "\xA9!\xC3", 9);
  events.append(out, Stream::Stdout, "\x80", 10);
  EXPECT_EQ(out,
            "id: 3\nevent: stdout\ndata: {\"data\":\"a\"}\n\n"
            "id: 9\nevent: stderr\ndata: {\"data\":\"é!\"}\n\n"
            "id: 10\nevent: stdout\ndata: {\"data\":\"😀\"}\n\n");
  out.clear();
  EXPECT_EQ(events.finish(out, 9), 12u);
  EXPECT_EQ(out, "id: 11\nevent: stderr\ndata: {\"data\":\"\xEF\xBF\xBD\"}\n\n");
}

TEST(Sse, HasAnIdForEachStreamThatEndsInACharacter) {
  for (std::uint64_t after = 0; after < 8; ++after) {
    OutputEvents events(Encoding::Utf8);
    std::string out;
    events.prime(Stream::Stdout, "\xE2\x82");
    events.prime(Stream::Stderr, "x\xC3");
    EXPECT_EQ(events.finish(out, 4, after), 8u);
    const auto told = parse(out);
    EXPECT_EQ(told.size(), after < 6 ? 2u : after < 7 ? 1u : 0u) << after;
    if (!told.empty()) {
      EXPECT_EQ(told.back().name, "stderr");
      EXPECT_EQ(told.back().id, 7u);
    }
  }
}

TEST(Sse, RestoresOnlyTheBeginningOfACharacter) {
  struct Case {
    std::string_view before;
    std::string_view after;
    std::string_view text;
  };
  constexpr Case kCases[] = {
      {"", "a", "a"},
      {"abc", "d", "d"},
      {"\xE2\x82", "\xAC", "€"},
      {"a\xE2", "\x82\xAC", "€"},
      {"\xF0\x9F\x98", "\x80", "😀"},
      {"\x82\x82\x82", "\x82", "\xEF\xBF\xBD"},
      {"\xE2\x82\xAC", "\x82", "\xEF\xBF\xBD"},
      {"\xE2\x82", "x", "\xEF\xBF\xBDx"},
      {"\xE0", "\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (const Case& c : kCases) {
    OutputEvents events(Encoding::Utf8);
    events.prime(Stream::Stdout, "\xC3");
    events.prime(Stream::Stdout, c.before);
    std::string out;
    events.append(out, Stream::Stdout, c.after, 9);
    ASSERT_EQ(parse(out).size(), 1u);
    EXPECT_EQ(parse(out)[0].data.at("data").get<std::string>(), c.text);
  }
}

// Any bytes, cut at any places, resumed after any event: the same text, nothing lost, nothing twice.
TEST(Sse, CanBeResumedAfterAnyEvent) {
  Dice dice;
  for (int round = 0; round < 400; ++round) {
    Log log;
    for (std::size_t pieces = dice.below(8); pieces > 0; --pieces) {
      const Stream stream = dice.below(2) == 0 ? Stream::Stdout : Stream::Stderr;
      log.push_back({stream, random_bytes(dice, 1 + dice.below(12))});
    }
    const Texts expected = whole_texts(log);
    const auto live = parse(written(log, Encoding::Utf8, 0, &dice));
    Texts seen;
    for (std::size_t count = 0; count <= live.size(); ++count) {
      const std::uint64_t after = count == 0 ? 1 : live[count - 1].id;
      if (count > 0) {
        ASSERT_GT(after, count == 1 ? 1 : live[count - 2].id) << "ids rise";
        add(seen, live[count - 1]);
      }
      Texts resumed = seen;
      std::uint64_t last = after;
      for (const Event& event : parse(written(log, Encoding::Utf8, after, &dice))) {
        ASSERT_GT(event.id, last);
        last = event.id;
        add(resumed, event);
      }
      ASSERT_EQ(resumed, expected) << "round " << round << " after " << after;
    }
    ASSERT_EQ(seen, expected) << "round " << round;
  }
}

TEST(Sse, LosesNoByteInBase64) {
  Dice dice;
  const std::string bytes = random_bytes(dice, 1000);
  std::size_t size = 0;
  for (const Event& event : parse(written({{Stream::Stderr, bytes}}, Encoding::Base64, 0, &dice))) {
    const std::string text = event.data.at("data");
    size += text.size() / 4 * 3 - static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
    EXPECT_EQ(event.id, size + 1);
  }
  EXPECT_EQ(size, bytes.size());
}

}  // namespace
}  // namespace roombox::sse
