#include "container/output_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

using Caps = OutputLog::Caps;

/// All that can be read of a log from a position on, with the streams told apart.
std::string read_from(const OutputLog& log, std::uint64_t at) {
  std::string text;
  std::optional<Stream> last;
  while (const auto chunk = log.read(at)) {
    if (std::exchange(last, chunk->stream) != chunk->stream)
      text += chunk->stream == Stream::Stdout ? 'o' : 'e';
    text += chunk->bytes;
    at += chunk->bytes.size();
  }
  return text;
}

TEST(OutputLog, KeepsTheStreamsApart) {
  OutputLog log({100, 100, 100});
  log.append(Stream::Stdout, "out");
  log.append(Stream::Stderr, "err");
  log.append(Stream::Stdout, std::string_view("\0put", 4));
  EXPECT_EQ(log.stored(Stream::Stdout), std::string_view("out\0put", 7));
  EXPECT_EQ(log.stored(Stream::Stderr), "err");
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, HoldsExactlyItsCapWithoutBeingTruncated) {
  OutputLog log({4, 100, 100});
  log.append(Stream::Stdout, "abcd");
  EXPECT_EQ(log.stored(Stream::Stdout), "abcd");
  EXPECT_FALSE(log.truncated());
}

TEST(OutputLog, KeepsAPrefixAndNothingAfterAGap) {
  OutputLog log({4, 100, 100});
  log.append(Stream::Stdout, "abc");
  log.append(Stream::Stdout, "def");
  log.append(Stream::Stdout, "g");
  EXPECT_EQ(log.stored(Stream::Stdout), "abcd");
  EXPECT_TRUE(log.truncated());
}

TEST(OutputLog, CapsEachStreamByItself) {
  OutputLog log({2, 100, 100});
  log.append(Stream::Stderr, "xyz");
  log.append(Stream::Stdout, "ab");
  EXPECT_EQ(log.stored(Stream::Stdout), "ab");
  EXPECT_EQ(log.stored(Stream::Stderr), "xy");
  EXPECT_TRUE(log.truncated());
}

TEST(OutputLog, IsReadInTheOrderOfArrival) {
  OutputLog log({100, 100, 100});
  log.append(Stream::Stdout, "ab");
  log.append(Stream::Stdout, "c");
  log.append(Stream::Stderr, "de");
  log.append(Stream::Stdout, "f");
  EXPECT_EQ(read_from(log, 0), "oabcedeof");
  EXPECT_EQ(read_from(log, 2), "ocedeof");
  EXPECT_EQ(read_from(log, 6), "");
}

TEST(OutputLog, KeepsTheLastBytes) {
  OutputLog log({100, 4, 100});
  log.append(Stream::Stdout, "abc");
  log.append(Stream::Stderr, "def");
  EXPECT_EQ(log.begin(), 2u);
  EXPECT_EQ(log.end(), 6u);
  EXPECT_EQ(read_from(log, log.begin()), "ocedef");
  log.append(Stream::Stdout, "0123456789");
  EXPECT_EQ(read_from(log, log.begin()), "o6789");
}

TEST(OutputLog, KeepsAsManyRunsAsItMay) {
  OutputLog log({100, 100, 2});
  for (const char byte : {'a', 'b', 'c', 'd'}) {
    log.append(Stream::Stdout, {&byte, 1});
    log.append(Stream::Stderr, "-");
  }
  EXPECT_EQ(read_from(log, log.begin()), "ode-");
}

TEST(OutputLog, FindsWhatAStreamWroteBefore) {
  OutputLog log({100, 8, 100});
  log.append(Stream::Stdout, "abcd");
  log.append(Stream::Stderr, "123");
  log.append(Stream::Stdout, "ef");
  EXPECT_EQ(log.before(9, Stream::Stdout, 3), "def");
  EXPECT_EQ(log.before(7, Stream::Stdout, 3), "bcd");
  EXPECT_EQ(log.before(7, Stream::Stdout, 9), "bcd") << "a is not kept";
  EXPECT_EQ(log.before(6, Stream::Stderr, 9), "12");
}

TEST(OutputLog, TellsHowWhatIsStoredWasInterleaved) {
  OutputLog log({300, 100, 100});
  log.append(Stream::Stderr, "e");
  log.append(Stream::Stdout, std::string(100, 'o'));
  log.append(Stream::Stdout, std::string(100, 'o'));
  log.append(Stream::Stderr, "ee");
  EXPECT_EQ(log.stored_runs(), std::string_view("\0\1\310\1\2", 5));  // 0, 1, 200, 2
  log.append(Stream::Stdout, std::string(101, 'o'));
  log.append(Stream::Stderr, "after the gap");
  EXPECT_EQ(log.stored_runs(), std::string_view("\0\1\310\1\2\144", 6)) << "100 of the 101, and then no more";
}

TEST(OutputLog, ForgetsInterleavingsThatAreTooMany) {
  OutputLog log({1 << 20, 100, 100});
  for (std::size_t i = 0; i < limits::kRuns; ++i) {
    log.append(Stream::Stdout, "o");
    log.append(Stream::Stderr, "e");
  }
  EXPECT_EQ(log.stored_runs(), "");
  EXPECT_FALSE(log.truncated());
}

TEST(LogReader, IsWokenOnceAllIsAppended) {
  OutputLog log({100, 100, 100});
  int woken = 0;
  LogReader reader(log, 0, LogReader::Pace::Writer, 0, [&] { ++woken; });
  log.append(Stream::Stdout, "a");
  log.append(Stream::Stderr, "b");
  EXPECT_EQ(woken, 0);
  log.wake_readers();
  EXPECT_EQ(woken, 1);
}

TEST(LogReader, LosesWhatItDidNotReadInTime) {
  OutputLog log({100, 4, 100});
  LogReader reader(log, 0, LogReader::Pace::Writer, 0, [] {});
  log.append(Stream::Stdout, "abcd");
  EXPECT_FALSE(reader.lost());
  log.append(Stream::Stdout, "e");
  EXPECT_TRUE(reader.lost());
  EXPECT_FALSE(log.is_held());
}

TEST(LogReader, HoldsAWriterThatIsTooFarAhead) {
  OutputLog log({100, 100, 100});
  int released = 0;
  log.on_released([&] { ++released; });
  auto reader = std::make_unique<LogReader>(log, 0, LogReader::Pace::Reader, 4, [] {});
  LogReader other(log, 0, LogReader::Pace::Writer, 0, [] {});
  log.append(Stream::Stdout, "abc");
  EXPECT_FALSE(log.is_held());
  log.append(Stream::Stderr, "de");
  EXPECT_TRUE(log.is_held());
  EXPECT_EQ(reader->next(1)->bytes, "a");
  EXPECT_EQ(released, 0);
  EXPECT_EQ(reader->next(10)->bytes, "bc");
  EXPECT_EQ(released, 1);
  log.append(Stream::Stdout, "fghi");
  EXPECT_TRUE(log.is_held());
  reader.reset();
  EXPECT_EQ(released, 2);
  EXPECT_FALSE(log.is_held());
}

TEST(LogReader, MayEndAnotherAsItIsWoken) {
  OutputLog log({100, 100, 100});
  std::array<std::unique_ptr<LogReader>, 3> readers;
  int woken = 0;
  for (auto& reader : readers) {
    reader = std::make_unique<LogReader>(log, 0, LogReader::Pace::Writer, 0, [&] {
      ++woken;
      readers[1].reset();
    });
  }
  log.wake_readers();
  EXPECT_EQ(woken, 2) << "the first, which ended the second, and the third";
}

/// Appends, attaches, reads, resumes and detaches in random turns. Whatever was kept when a reader began, it
/// reads once and in order, up to the end or to where it was lost.
class RandomTurns : public testing::TestWithParam<int> {};

TEST_P(RandomTurns, GiveEachReaderEveryByteOnce) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto up_to = [&](std::size_t limit) { return random() % limit; };
  const Caps caps{200, 1 + up_to(300), 1 + up_to(20)};
  OutputLog log(caps);
  std::string bytes, streams;  // of all that was ever appended

  struct Watcher {
    std::unique_ptr<LogReader> reader;
    std::uint64_t checked;
  };
  std::vector<Watcher> watchers;
  const auto attach = [&](std::uint64_t at) {
    const auto pace = up_to(2) ? LogReader::Pace::Reader : LogReader::Pace::Writer;
    watchers.push_back({std::make_unique<LogReader>(log, at, pace, caps.kept / 2 + 1, [] {}), at});
  };
  const auto read = [&](Watcher& watcher) {
    if (watcher.reader->lost()) return false;
    const auto chunk = watcher.reader->next(1 + up_to(40));
    if (!chunk) return false;
    for (const char byte : chunk->bytes) {
      EXPECT_EQ(byte, bytes[watcher.checked]);
      EXPECT_EQ(chunk->stream == Stream::Stdout ? 'o' : 'e', streams[watcher.checked]);
      ++watcher.checked;
    }
    return true;
  };

  for (int turn = 0; turn < 2000 && !HasFailure(); ++turn) {
    switch (up_to(6)) {
      case 0:
      case 1: {
        std::string text(up_to(60), '\0');
        std::generate(text.begin(), text.end(), [&] { return static_cast<char>(random()); });
        const bool out = up_to(2);
        log.append(out ? Stream::Stdout : Stream::Stderr, text);
        bytes += text;
        streams.append(text.size(), out ? 'o' : 'e');
        break;
      }
      case 2:
        if (watchers.size() < 8) attach(log.begin() + up_to(log.end() - log.begin() + 1));
        break;
      case 3:
        if (!watchers.empty())
          watchers.erase(watchers.begin() + static_cast<std::ptrdiff_t>(up_to(watchers.size())));
        break;
      default:
        if (!watchers.empty()) read(watchers[up_to(watchers.size())]);
    }
    ASSERT_EQ(log.end(), bytes.size());
    ASSERT_LE(log.end() - log.begin(), caps.kept);
  }
  for (auto& watcher : watchers) {
    while (read(watcher)) {
    }
    EXPECT_TRUE(watcher.reader->lost() || watcher.checked == bytes.size());
  }
}

INSTANTIATE_TEST_SUITE_P(OutputLog, RandomTurns, testing::Range(0, 50));

}  // namespace
}  // namespace roombox
