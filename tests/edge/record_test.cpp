#include "wasm/protocol/record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/edge/dice.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using std::chrono::system_clock;

const Error kBadCwd = {
    ErrorCode::InvalidRequest, "invalid request", {{"cwd", "no such directory"}, {"cwd", "2"}}};

/// One with every field.
ExecutionView full() {
  ExecutionView view;
  view.id = "exec_0123";
  view.mode = Mode::Stream;
  view.command = "printf 'a\\nb'\n"sv;
  view.encoding = Encoding::Base64;
  view.status = Status::Failed;
  view.exit_code = 137;
  view.signal = "SIGKILL";
  view.shell = "main";
  view.shell_exited = true;
  view.oom = true;
  view.truncated = true;
  view.started_at = system_clock::time_point(1'796'000'000'123ms);
  view.finished_at = view.started_at + 5s;
  view.duration = 4999ms;
  view.total = 1'000'000'000'000;
  view.error = &kBadCwd;
  view.out = "out\0 5\nid 1\nx"sv;
  view.err = "\xFF\n"sv;
  view.runs = "\x0D\x02"sv;
  return view;
}

std::string frame_of(const ExecutionView& view) {
  std::string bytes;
  append_frame(bytes, view);
  return bytes;
}

std::string record_of(const ExecutionView& view) {
  std::string bytes;
  append_head(bytes, view);
  append_output(bytes, view);
  return bytes;
}

/// Field by field, as one text.
std::string told(const ExecutionView& view) {
  std::string bytes = record_of(view);
  return bytes + (view.error ? render(*view.error, Dialect::Rooms) : "no error");
}

/// Takes all whole frames off the bytes, as text.
std::string take_all(std::string_view& bytes) {
  std::string log;
  Frame frame;
  while (take_frame(bytes, frame) == FrameState::Whole) {
    log.append(frame.id).append("|").append(frame.status).append("|");
    log.append(frame.head).append("|").append(frame.output).append("|");
  }
  return log;
}

TEST(Record, IsFieldsInTheOrderOfItsPage) {
  ExecutionView view;
  view.id = "exec_1";
  view.command = "true";
  view.status = Status::Completed;
  view.exit_code = 0;
  view.started_at = system_clock::time_point(5ms);
  view.finished_at = system_clock::time_point(7ms);
  view.duration = 2ms;
  view.total = 3;
  view.out = "ab\n";
  view.runs = "\x03";
  EXPECT_EQ(record_of(view),
            "id 6\nexec_1mode 5\nplaincommand 4\ntrueencoding 4\nutf8status 9\ncompletedexit_code 1\n0"
            "started_ms 1\n5finished_ms 1\n7duration_ms 1\n2total 1\n3stdout 3\nab\nstderr 0\nruns 1\n\x03");
  EXPECT_EQ(frame_of(view).substr(0, 26), "exec_1 completed 136 29\nid");
  std::string seed;
  append_seed(seed, view);
  EXPECT_EQ(seed, "mode 5\nplaincommand 4\ntrueencoding 4\nutf8");
}

TEST(Record, ReadsWhatWasWritten) {
  for (const bool with_error : {true, false}) {
    ExecutionView view = full();
    if (!with_error) view.error = nullptr;
    const std::string bytes = record_of(view);
    Record record;
    EXPECT_TRUE(record.read(bytes));
    EXPECT_EQ(told(record.view()), told(view));
    EXPECT_EQ(record.outcome(), "");
  }
  ExecutionView running;
  running.id = "exec_2";
  const std::string bytes = record_of(running);
  Record record;
  EXPECT_TRUE(record.read(bytes));
  EXPECT_EQ(told(record.view()), told(running));
  EXPECT_FALSE(record.view().duration);
}

TEST(Record, LetsLaterFieldsCount) {
  Record record;
  EXPECT_TRUE(record.read("mode 6\ndetachstatus 7\nrunningcommand 1\nx"));
  EXPECT_TRUE(
      record.read("status 6\nfailedoutcome 4\nlosterror_code 4\ngoneerror_message 1\na"
                  "error_code 8\nconflicterror_message 1\nb"));
  const ExecutionView view = record.view();
  EXPECT_EQ(view.mode, Mode::Detach);
  EXPECT_EQ(view.command, "x");
  EXPECT_EQ(view.status, Status::Failed);
  EXPECT_EQ(record.outcome(), "lost");
  ASSERT_NE(view.error, nullptr);
  EXPECT_EQ(view.error->code, ErrorCode::Conflict);
  EXPECT_EQ(view.error->message, "b");
}

TEST(Record, HasDefaultsForWhatIsAbsent) {
  Record record;
  EXPECT_TRUE(record.read(""));
  EXPECT_EQ(told(record.view()), told(ExecutionView{}));
  EXPECT_TRUE(record.read("stdout 2\nab"));
  EXPECT_EQ(record.view().total, 2u);
}

TEST(Record, PassesOverValuesThatAreNone) {
  constexpr std::string_view kWrong[] = {
      "mode 3\nwhy",
      "status 0\n",
      "encoding 4\nUTF8",
      "exit_code 3\n256",
      "exit_code 2\n-1",
      "exit_code 0\n",
      "oom 4\ntrue",
      "started_ms 2\n1.",
      "total 2\n+1",
      "total 20\n99999999999999999999",
      "duration_ms 13\n9000000000001",
      "finished_ms 20\n18446744073709551615",
      "error_detail 3\na\0b"sv,
      "error_code 3\nbad",
      "stdin 1\nx",
      " 1\nx",
      "ID 1\nx",
  };
  for (std::string_view wrong : kWrong) {
    const std::string bytes = "id 1\nx" + std::string(wrong) + "command 1\ny";
    Record record;
    EXPECT_FALSE(record.read(bytes)) << wrong;
    EXPECT_EQ(record.view().id, "x");
    EXPECT_EQ(record.view().command, "y") << wrong;
    EXPECT_EQ(record.view().exit_code, std::nullopt);
  }
}

TEST(Record, StopsWhereBytesAreNoField) {
  constexpr std::string_view kDamaged[] = {"x",
                                           "x 1",
                                           "x 1\n",
                                           "x  1\ny",
                                           "x\n1\n",
                                           "x -1\ny",
                                           "x 2\ny",
                                           "\n",
                                           " \n",
                                           "x 18446744073709551615\ny",
                                           "x 18446744073709551616\ny",
                                           "command 1x\ny"};
  for (std::string_view damaged : kDamaged) {
    const std::string bytes = "id 1\nx" + std::string(damaged);
    Record record;
    EXPECT_FALSE(record.read(bytes)) << damaged;
    EXPECT_EQ(record.view().id, "x") << damaged;
    EXPECT_EQ(record.view().command, "") << damaged;
  }
}

TEST(Record, BoundsDetails) {
  std::string bytes = "error_code 15\ninvalid_requesterror_message 1\nm";
  for (int count = 0; count < 100; ++count) bytes += "error_detail 3\na\0b"sv;
  Record record;
  EXPECT_FALSE(record.read(bytes));
  EXPECT_EQ(record.view().error->details.size(), limits::kFieldErrors);
}

// Trial 32: frames cut anew at every byte.
TEST(Frame, IsTheSameHoweverItComes) {
  const std::string bytes = frame_of(full()) + frame_of(ExecutionView{}) + frame_of(full());
  std::string_view whole = bytes;
  const std::string expected = take_all(whole);
  EXPECT_EQ(whole, "");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string buffer = bytes.substr(0, cut);
    std::string_view rest = buffer;
    std::string log = take_all(rest);
    buffer = std::string(rest) + bytes.substr(cut);
    rest = buffer;
    log += take_all(rest);
    ASSERT_EQ(log, expected) << cut;
    ASSERT_EQ(rest, "") << cut;
  }
  std::string buffer;
  std::string log;
  for (char byte : bytes) {
    std::string_view rest = buffer += byte;
    log += take_all(rest);
    buffer = std::string(rest);
  }
  EXPECT_EQ(log, expected);
}

TEST(Frame, IsPartialUntilItsLastByte) {
  const std::string bytes = frame_of(full());
  Frame frame;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view rest = std::string_view(bytes).substr(0, size);
    ASSERT_EQ(take_frame(rest, frame), FrameState::Partial) << size;
    ASSERT_EQ(rest.size(), size);
  }
}

TEST(Frame, SaysWhenItIsNone) {
  const std::string long_line(160, 'x');
  for (std::string_view damaged :
       {"\n"sv, "a b 1\n"sv, "a b 1 x\n"sv, "a b 1 2 3\n"sv, "a b  1 2\n"sv, "a b 1 -2\n"sv,
        "a b 1 99999999999999999999\n"sv, std::string_view(long_line)}) {
    Frame frame;
    std::string_view rest = damaged;
    EXPECT_EQ(take_frame(rest, frame), FrameState::Damaged) << damaged;
    EXPECT_EQ(rest, damaged);
  }
  Frame frame;
  std::string_view huge = "a b 18446744073709551615 18446744073709551615\nxx";
  EXPECT_EQ(take_frame(huge, frame), FrameState::Partial);
}

TEST(Runs, TellsHowTwoStreamsFollowedEachOther) {
  Runs runs;
  EXPECT_EQ(runs.encoded(), "");
  runs.add(Stream::Stderr, 3);
  EXPECT_EQ(runs.encoded(), "\0\x03"sv);
  runs.add(Stream::Stderr, 0);
  runs.add(Stream::Stdout, 0);
  runs.add(Stream::Stderr, 125);
  runs.add(Stream::Stdout, 300);
  runs.add(Stream::Stdout, 16'384);
  EXPECT_EQ(runs.encoded(), "\0\x80\x01\xAC\x82\x01"sv);
  EXPECT_EQ(runs.encoded(), runs.encoded());
  RunReader reader("\0\x80\x01\xAC\x82\x01"sv);
  const std::vector<std::pair<Stream, std::uint64_t>> expected = {
      {Stream::Stdout, 0}, {Stream::Stderr, 128}, {Stream::Stdout, 16'684}};
  for (const auto& [stream, bytes] : expected) {
    const auto run = reader.next();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->stream, stream);
    EXPECT_EQ(run->bytes, bytes);
  }
  EXPECT_FALSE(reader.next());
}

TEST(Runs, AreNoneWhereTheyAreTooMany) {
  Runs runs;
  for (std::size_t count = 0; count < limits::kRuns / 2 - 8; ++count) {
    runs.add(Stream::Stdout, 1);
    runs.add(Stream::Stderr, 1);
  }
  EXPECT_GT(runs.encoded().size(), limits::kRuns - 32);
  for (int count = 0; count < 32; ++count) {
    runs.add(Stream::Stdout, 1);
    runs.add(Stream::Stderr, 1);
  }
  EXPECT_EQ(runs.encoded(), "");
}

TEST(Runs, ReadAnyBytes) {
  for (std::string_view bytes : {"\x80"sv, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv}) {
    RunReader reader(bytes);
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.next());
  }
  RunReader largest("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv);
  EXPECT_EQ(largest.next()->bytes, ~std::uint64_t{0});
}

// Whatever befalls the bytes of a record, reading stays within them (which the sanitizers see) and ends.
TEST(Mutation, OfARecordIsReadWithoutHarm) {
  Dice dice;
  const std::string seed = frame_of(full());
  for (int count = 0; count < 20'000; ++count) {
    std::string bytes = seed;
    for (std::size_t rounds = 1 + dice.below(4); rounds > 0 && !bytes.empty(); --rounds) {
      const std::size_t at = dice.below(bytes.size());
      switch (dice.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(dice.below(256));
          break;
        case 1:
          bytes.erase(at, dice.below(16));
          break;
        case 2:
          bytes.insert(at, bytes.substr(dice.below(bytes.size()), dice.below(40)));
          break;
        default:
          bytes.insert(at, std::to_string(dice.below(1000)));
      }
    }
    const std::string exact(bytes);  // no room behind the bytes in which a read too far could hide
    std::string_view rest = exact;
    Frame frame;
    if (take_frame(rest, frame) == FrameState::Whole) {
      ASSERT_LE(frame.head.size() + frame.output.size() + rest.size(), exact.size());
    }
    Record record;
    record.read(exact.substr(0, exact.find('\n') == std::string::npos ? 0 : exact.find('\n') + 1));
    const std::string fields = exact.substr(std::min(exact.find('\n') + 1, exact.size()));
    record.read(fields);
    ASSERT_LE(record.view().out.size() + record.view().err.size(), fields.size());
    ASSERT_FALSE(told(record.view()).empty());
  }
}

}  // namespace
}  // namespace roombox
