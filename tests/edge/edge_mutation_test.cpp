#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/edge/decisions.h"
#include "tests/edge/dice.h"
#include "tests/edge/sse_log.h"
#include "wasm/edge.h"
#include "wasm/protocol/exec_request.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/record.h"
#include "wasm/router.h"

namespace roombox::edge {
namespace {

using nlohmann::json;

constexpr std::string_view kSeeds[] = {
    R"({"cmd":"echo 'Hello from sandbox'"})",
    R"({"cmd":"ls","cwd":"/tmp","env":{"A":"1","B_2":"x y"},"timeout_ms":5000})",
    R"({"cmd":"\ud83d\ude00 \u00e9\n\"\\\/","timeout_ms":1e3})",
    R"( { "env" : { } , "timeout_ms" : 5.0 , "cmd" : "é€😀" } )",
    R"({"cmd":["a",{"b":[null,true,-1.5e-3]}],"x":{"y":[]}})",
    "\xEF\xBB\xBF{\"cmd\":\"a\"}",
    R"({"cmd":"cat","stdin":"a\u0000b","stream":true,"detach":false,"encoding":"base64"})",
    R"({"encoding":"utf8","detach":true,"cmd":"sleep 1","stdin":""})",
    R"({"command":"ls","cwd":"/tmp","env":{"A":"1"},"timeout_ms":5000,"stream":false})",
};

using namespace std::string_view_literals;
constexpr std::string_view kPieces[] = {"\"",
                                        "\\",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\0"sv,
                                        "\n",
                                        "\xFF",
                                        "\xE2",
                                        "\xED\xA0",
                                        "\\ud83d",
                                        "\\udc00",
                                        "\\u0000",
                                        "1e999",
                                        "-0",
                                        "null",
                                        "true",
                                        "\"cmd\":",
                                        "\"env\":{",
                                        "\"timeoutMs\":1,",
                                        "\"command\":\"b\",",
                                        "\"stream\":true,",
                                        "\"detach\":true,",
                                        "\"encoding\":\"utf8\",",
                                        "\"stdin\":\"\",",
                                        "99999999999999999999",
                                        "\x80",
                                        "\xF0\x9F\x98",
                                        " ",
                                        "//",
                                        "\xEF\xBB\xBF",
                                        "[[[[[[[[[[[[[[[["};

void mutate(std::string& body, Dice& dice) {
  const std::size_t at = dice.below(body.size() + 1);
  switch (dice.below(6)) {
    case 0:
      if (at < body.size()) body[at] = static_cast<char>(dice.below(256));
      break;
    case 1:
      body.erase(at, dice.below(8));
      break;
    case 2:
      body.insert(at, kPieces[dice.below(std::size(kPieces))]);
      break;
    case 3:
      body.resize(at);
      break;
    case 4:
      body.insert(at, body.substr(dice.below(body.size() + 1), dice.below(24)));
      break;
    default:
      if (at < body.size()) body[at] = static_cast<char>(body[at] ^ (1 << dice.below(8)));
  }
}

/// How a dialect calls the command, and all that its bodies may have.
struct Fields {
  Dialect dialect;
  std::string_view url;
  const char* command;
  std::set<std::string> names;
};
const Fields kDialects[] = {
    {Dialect::Rooms,
     "/api/rooms/r/sandbox/exec",
     "cmd",
     {"cmd", "cwd", "env", "timeout_ms", "stdin", "stream", "detach", "encoding"}},
    {Dialect::V1, "/v1/sandboxes/r/exec", "command", {"command", "cwd", "env", "timeout_ms", "stream"}},
};

/// Checks what was forwarded against the parser's own, independent reading of the body.
void check_forwarded(const Forward& forward, const std::string& body, const Fields& fields) {
  ASSERT_EQ(body.find('\0'), std::string::npos);
  const json document = json::parse(body, nullptr, false);
  ASSERT_TRUE(document.is_object()) << body;
  const auto parsed = parse_exec_request(body, fields.dialect);
  ASSERT_TRUE(parsed) << body;
  EXPECT_EQ(json(parsed->cmd), document.value(fields.command, json())) << body;
  EXPECT_EQ(parsed->env.size(), document.value("env", json::object()).size()) << body;
  EXPECT_EQ(json(parsed->stdin_text.value_or("")), document.value("stdin", json(""))) << body;
  EXPECT_EQ(parsed->mode == Mode::Stream, document.value("stream", false)) << body;
  EXPECT_EQ(parsed->mode == Mode::Detach, document.value("detach", false)) << body;
  EXPECT_EQ(parsed->timeout.has_value(), parsed->mode != Mode::Detach || document.contains("timeout_ms"));
  for (const auto& [name, value] : document.items()) EXPECT_TRUE(fields.names.contains(name)) << body;
  Record record;
  EXPECT_TRUE(record.read(forward.seed));
  EXPECT_EQ(record.view().command, parsed->cmd);
  EXPECT_EQ(record.view().mode, parsed->mode);
  EXPECT_EQ(record.view().encoding, parsed->encoding);
}

void check_refused(const Answer& answer, const std::string& body, const Fields& fields) {
  ASSERT_EQ(answer.status, 400) << body;
  ASSERT_LT(answer.body.size(), 8192u) << body;
  json error = json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(error.is_object()) << answer.body;
  if (fields.dialect == Dialect::V1) error = error.value("error", json::object());
  ASSERT_FALSE(error.value("details", json()).empty()) << answer.body;
}

// Whatever the body: forwarded if it is right, 400 if not, and neither a crash nor a third way.
TEST(Mutation, IsForwardedOrRefused) {
  constexpr int kBodies = 30'000;
  for (const Fields& fields : kDialects) {
    Dice dice;
    int forwarded = 0;
    for (int count = 0; count < kBodies; ++count) {
      std::string body(kSeeds[dice.below(std::size(kSeeds))]);
      for (std::size_t rounds = dice.below(4); rounds > 0; --rounds) mutate(body, dice);
      Request request = exec_call(body);
      request.url = fields.url;
      const Decision decision = decide(request);
      if (std::holds_alternative<Forward>(decision)) {
        ++forwarded;
        check_forwarded(expect<Forward>(decision), body, fields);
      } else {
        check_refused(expect<Answer>(decision), body, fields);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(forwarded, kBodies / 50) << name(fields.dialect);
    EXPECT_LT(forwarded, kBodies * 9 / 10) << name(fields.dialect);
  }
}

/// Every call there is, with what its path and query may hold.
constexpr std::string_view kUrls[] = {
    "/health",
    "/api/rooms?limit=5&cursor=1796000000000.sandbox-r",
    "/api/rooms/room-123",
    "/api/rooms/room%2D123/sandbox/executions?limit=5&cursor=7&status=failed",
    "/api/rooms/r/sandbox/executions/exec_0123456789abcdef0123",
    "/api/rooms/r/sandbox/executions/exec_0/events",
    "http://host/api/rooms/r/sandbox/executions/exec_0/stdin?eof=true",
    "/api/rooms/r/sandbox/executions/exec_0/kill#f",
    "/v1/sandboxes?limit=100",
    "/v1/sandboxes/sbx_9f2c4a1b8d3e6f0a12",
    "/v1/sandboxes/r/exec",
    "http://host:8787/api/rooms/r/sandbox/ports/3000/a%20b/?c&wait_ms=17&&d=e#f",
    "/api/rooms/r/sandbox/ports/65535?wait_ms=60000",
    "https://host/v1/sandboxes/r/ports",
    "/api/rooms/room-123/sleep",
    "/api/sandboxes/r/wake",
    "/api/sandboxes/r/timeout",
};
constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS", ""};

/// That an error is of the dialect of its path: JSON with a text or an object under `error`.
void check_error(const Answer& answer, std::string_view url) {
  if (answer.status < 300) return;
  const json error = json::parse(answer.body, nullptr, false).value("error", json());
  const bool v1 = path_of(url).starts_with("/v1/") || path_of(url) == "/v1";
  ASSERT_TRUE(v1 ? error.is_object() : error.is_string()) << url << " " << answer.body;
}

// Whatever the URL, the headers and the body: one decision, whose lines have no line breaks of a caller's.
TEST(Mutation, OfAUrlIsDecidedOn) {
  Dice dice;
  const std::string_view bodies[] = {"",
                                     "{}",
                                     R"({"signal":2})",
                                     R"({"cmd":"a"})",
                                     R"({"command":"a"})",
                                     R"({"port":3000})",
                                     R"({"timeout":1.5})"};
  for (int count = 0; count < 60'000; ++count) {
    std::string url(kUrls[dice.below(std::size(kUrls))]);
    for (std::size_t rounds = dice.below(3); rounds > 0; --rounds) mutate(url, dice);
    std::string header_value = "17";
    if (dice.below(2) == 0) mutate(header_value, dice);
    Request request = open_call();
    request.method = kMethods[dice.below(std::size(kMethods))];
    request.url = url;
    request.content_type = "application/json";
    if (dice.below(2) == 0) request.last_event_id = header_value;
    if (dice.below(2) == 0) request.upgrade = "websocket";
    if (dice.below(2) == 0) request.idempotency_key = header_value;
    request.body = bodies[dice.below(std::size(bodies))];
    Decision decision = decide(request);
    ASSERT_FALSE(std::holds_alternative<ReadBody>(decision)) << url;
    if (const auto* const answer = std::get_if<Answer>(&decision)) check_error(*answer, url);
    Headers lines;
    if (const auto* const forward = std::get_if<Forward>(&decision)) {
      lines = forward->headers;
      lines.emplace_back(forward->sandbox, forward->path);
    }
    if (const auto* const ask = std::get_if<Ask>(&decision)) {
      lines = ask->arguments;
      lines.emplace_back(ask->sandbox, ask->operation);
    }
    for (const auto& [name, value] : lines) {
      ASSERT_EQ((name + value).find_first_of("\r\n\0"sv), std::string::npos) << url;
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// Outcomes with all that they may bring.
std::vector<std::string> outcomes() {
  ExecutionView view;
  view.id = "exec_1";
  view.mode = Mode::Stream;
  view.command = "echo a";
  view.status = Status::Completed;
  view.exit_code = 0;
  view.total = 9;
  view.out = "a\xE2\x82";
  view.err = "b\xC3\xA9\n\xF0\x9F";
  view.runs = "\x01\x03\x02\x03";
  std::string head;
  append_head(head, view);
  std::string fields = head;
  append_output(fields, view);
  const std::string room =
      "sandbox 9\nsandbox-rstatus 7\nrunningcreated_ms 4\n1000active_ms 4\n2000"
      "snapshot_ms 4\n3000snapshot_bytes 4\n4096sleep_after_ms 6\n600000sleep_error 1\nx";
  std::vector<std::string> all = {"deleted",      "lost",           "no_execution",  "timeout_set",
                                  "sleep_failed", "restore_failed", "room\n" + room, "created\n" + room};
  for (const char* name : {"record\n", "events\n", "result\n"}) {
    all.push_back(name + fields);
    all.push_back(name + fields + "status 6\nfailedoutcome 4\nlost");
  }
  std::string list = "records\n";
  FieldWriter(list).text("record", head).text("record", head).text("cursor", "7");
  all.push_back(list);
  list = "rooms\n";
  FieldWriter(list).text("room", room).text("cursor", "7.sandbox-r");
  all.push_back(list);
  return all;
}

// Whatever an object reports: an answer, well-formed and of a known status.
TEST(Mutation, OfAnOutcomeIsAnswered) {
  Dice dice;
  const std::vector<std::string> seeds = outcomes();
  for (int count = 0; count < 40'000; ++count) {
    std::string outcome = seeds[dice.below(seeds.size())];
    for (std::size_t rounds = dice.below(4); rounds > 0; --rounds) mutate(outcome, dice);
    const std::string after = std::to_string(dice.below(14));
    Request request = open_call();
    request.method = "GET";
    request.url = kUrls[dice.below(std::size(kUrls))];
    if (dice.below(2) == 0) request.last_event_id = after;
    const Answer answer = answer_outcome(request, outcome);
    const std::string type = header(answer.headers, "Content-Type");
    ASSERT_TRUE(answer.status >= 200 && answer.status < 600);
    if (answer.status == 204) {
      ASSERT_EQ(answer.body, "");
    } else if (type == "text/event-stream") {
      for (const sse::Event& event : sse::parse(answer.body))
        ASSERT_TRUE(event.data.is_object()) << answer.body;
    } else {
      ASSERT_TRUE(json::accept(answer.body)) << answer.body;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace roombox::edge
