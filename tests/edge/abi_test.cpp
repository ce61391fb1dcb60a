#include "wasm/abi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "wasm/protocol/limits.h"

namespace roombox {
namespace {

constexpr std::string_view kExec =
    "POST http://host/api/rooms/r/sandbox/exec\ncontent-type:application/json\ncontent-length:14\n";
constexpr std::string_view kDelete = "DELETE http://host/api/rooms/r\nroombox-caller:key\n";

/// A head with the host's word that it is of somebody with an API key.
std::string by_key(std::string_view head) {
  const std::size_t end = std::min(head.find('\n'), head.size());
  std::string text(head.substr(0, end));
  text += "\nroombox-caller:key";
  return text.append(head.substr(end));
}

/// Puts both into the buffer.
void fill(std::string_view head, std::string_view rest) {
  char* const input = edge_input(head.size() + rest.size());
  ASSERT_NE(input, nullptr);
  std::memcpy(input, head.data(), head.size());
  if (!rest.empty()) std::memcpy(input + head.size(), rest.data(), rest.size());
}

/// A result as its words and texts.
struct Result {
  explicit Result(const EdgeResult* words)
      : action(words->action),
        number(words->status_or_limit),
        head(words->head, words->head_size),
        body(words->body, words->body_size),
        note(words->note, words->note_size) {}

  std::size_t action;
  std::size_t number;
  std::string head;
  std::string body;
  std::string note;
};

Result decide(std::string_view request) {
  const std::string head = by_key(request);
  fill(head, {});
  return Result(edge_decide(head.size(), -1));
}

Result decide(std::string_view request, std::string_view body) {
  const std::string head = by_key(request);
  fill(head, body);
  return Result(edge_decide(head.size(), static_cast<std::int32_t>(body.size())));
}

Result outcome(std::string_view head, std::string_view name) {
  fill(head, name);
  return Result(edge_outcome(head.size(), name.size()));
}

TEST(Abi, TellsAHostToReadTheBody) {
  const Result result = decide(kExec);
  EXPECT_EQ(result.action, kEdgeReadBody);
  EXPECT_EQ(result.number, limits::kBody);
  EXPECT_EQ(result.head, "");
  EXPECT_EQ(result.body, "");
}

TEST(Abi, TellsAHostToForward) {
  const Result result = decide(kExec, R"({"cmd":"true"})");
  EXPECT_EQ(result.action, kEdgeForward);
  EXPECT_EQ(result.head,
            "sandbox-r\nPOST /executions\nRoombox-Sandbox:sandbox-r\nRoombox-Dialect:rooms\n"
            "Content-Type:application/json\n");
  EXPECT_EQ(result.body, "mode 5\nplaincommand 4\ntrueencoding 4\nutf8");
}

TEST(Abi, TellsAHostWhoseHeadersToForward) {
  EXPECT_EQ(decide(kExec, R"({"cmd":"true"})").number, 0u);
  EXPECT_EQ(decide("GET /api/rooms/r/sandbox/files/a\n").number, 0u);
  const Result result = decide("PUT https://host:8787/api/rooms/r/sandbox/ports/3000/a?b&wait_ms=5\n");
  EXPECT_EQ(result.action, kEdgeForward);
  EXPECT_EQ(result.number, 1u);
  EXPECT_EQ(result.head,
            "sandbox-r\nPUT /ports/3000/a?b\nRoombox-Sandbox:sandbox-r\nRoombox-Dialect:rooms\n"
            "Roombox-Wait:5\nX-Forwarded-Proto:https\nX-Forwarded-Host:host:8787\n"
            "X-Forwarded-Prefix:/api/rooms/r/sandbox/ports/3000\n");
  EXPECT_EQ(result.body, "");
}

TEST(Abi, TellsAHostToAnswerWithAPage) {
  const Result result = decide("GET /rooms/r\n");
  EXPECT_EQ(result.action, kEdgePage);
  EXPECT_EQ(result.head, "room.html\n");
  EXPECT_EQ(result.body, "");
}

TEST(Abi, TellsAHostToAsk) {
  Result result = decide(kDelete);
  EXPECT_EQ(result.action, kEdgeAsk);
  EXPECT_EQ(result.head, "destroy\nsandbox-r\n");
  EXPECT_EQ(result.body, "");
  result = decide("GET /api/rooms/r/sandbox/executions?limit=5&status=failed\n");
  EXPECT_EQ(result.action, kEdgeAsk);
  EXPECT_EQ(result.head, "records\nsandbox-r\nlimit:5\nstatus:failed\n");
  EXPECT_EQ(decide("GET /v1/sandboxes").head, "rooms\n\nlimit:20\n");
  EXPECT_EQ(decide("POST /api/rooms/r/sleep\n").head, "sleep\nsandbox-r\n");
  EXPECT_EQ(decide("POST /api/sandboxes/r/wake\ncontent-type:application/json\n", R"({"timeout":0.5})").head,
            "wake\nsandbox-r\nsleep_after_ms:500\n");
}

TEST(Abi, NotesWhatARequestIsAbout) {
  EXPECT_EQ(decide("GET http://host/api/rooms/a%2Db/sandbox/files/secret?query").note,
            "/api/rooms/{roomID}/sandbox/files/{path}\na-b\n\n\n");
  EXPECT_EQ(decide("GET /api/rooms/r/sandbox/executions/exec_1").note,
            "/api/rooms/{roomID}/sandbox/executions/{executionID}\nr\nexec_1\n\n");
  EXPECT_EQ(decide("GET /api/rooms/-a").note, "/api/rooms/{roomID}\n\n\ninvalid_request\n");
  EXPECT_EQ(decide("GET /no/such/path").note, "\n\n\nnot_found\n");
  EXPECT_EQ(decide("GET /v1/sandboxes").note, "/v1/sandboxes\n\n\n\n");
  EXPECT_EQ(outcome(kDelete, "deleted").note, "\n\n\n\n");
  EXPECT_EQ(outcome(kExec, "at_capacity").note, "\n\n\nunavailable\n");
}

TEST(Abi, TakesTheHeadersThatCount) {
  for (std::string_view key : {"idempotency-key:a key\n", "idempotency-key:\n"}) {
    std::string head(kExec);
    EXPECT_EQ(decide(head.append(key)).number, 400u) << key;
  }
  const Result result =
      decide("GET /api/rooms/r/sandbox/executions/exec_1/events\nlast-event-id:7\nlast-event-id:8\n");
  EXPECT_EQ(result.action, kEdgeForward);
  EXPECT_EQ(result.head,
            "sandbox-r\nGET /executions/exec_1/events\nRoombox-Sandbox:sandbox-r\nRoombox-Dialect:rooms\n"
            "Roombox-Execution:exec_1\nLast-Event-ID:7\n");
  EXPECT_EQ(result.body, "");
}

TEST(Abi, TellsAHostWhatToAnswer) {
  const Result result = decide(kExec, "{}");
  EXPECT_EQ(result.action, kEdgeAnswer);
  EXPECT_EQ(result.number, 400u);
  EXPECT_EQ(result.head, "Content-Type:application/json\nCache-Control:no-store\n");
  EXPECT_EQ(
      result.body,
      R"({"error":"invalid request","details":{"cmd":["Invalid input: expected string, received undefined"]},)"
      R"("code":"invalid_request"})");
}

TEST(Abi, TellsAnEmptyBodyFromNone) {
  EXPECT_EQ(decide(kExec).action, kEdgeReadBody);
  EXPECT_EQ(decide(kExec, "").number, 400u);
}

TEST(Abi, WordsOutcomes) {
  EXPECT_EQ(outcome(kDelete, "deleted").body, R"({"sandboxName":"sandbox-r","deleted":true})");
  EXPECT_EQ(outcome(kExec, "gone").number, 410u);
  EXPECT_EQ(outcome(kExec, "gone\n").number, 410u);
  EXPECT_EQ(outcome(kExec, "").number, 500u);
  EXPECT_EQ(
      outcome("GET /api/rooms/r", "room\nstatus 7\nrunning").body,
      R"({"roomID":"r","sandboxName":"sandbox-r","status":"running","createdAt":null,"lastActiveAt":null,)"
      R"("snapshot":null,"sleepAfterMs":null,"sleepError":null})");
}

TEST(Abi, LetsTheBufferBeLargerThanItsContent) {
  char* const input = edge_input(10'000);
  std::memcpy(input, kDelete.data(), kDelete.size());
  EXPECT_EQ(Result(edge_decide(kDelete.size(), -1)).action, kEdgeAsk);
}

TEST(Abi, AnswersAFaultWhereSizesAreMoreThanTheBufferHas) {
  constexpr std::size_t kHuge = ~std::size_t{0};
  fill(kDelete, {});
  EXPECT_EQ(Result(edge_decide(kDelete.size() + 1, -1)).number, 500u);
  fill(kDelete, {});
  EXPECT_EQ(Result(edge_decide(kDelete.size(), 1)).number, 500u);
  fill(kDelete, {});
  EXPECT_EQ(Result(edge_decide(kHuge, -1)).number, 500u);
  fill(kDelete, {});
  EXPECT_EQ(Result(edge_outcome(kDelete.size(), kHuge)).number, 500u);
  fill(kDelete, {});
  EXPECT_EQ(Result(edge_decide(kDelete.size(), -1)).action, kEdgeAsk);
  EXPECT_EQ(Result(edge_decide(kDelete.size(), -1)).number, 500u) << "the buffer was consumed";
}

TEST(Abi, RefusesABufferThatNoRequestNeeds) {
  fill(kDelete, {});
  EXPECT_EQ(edge_input(~std::size_t{0}), nullptr);
  EXPECT_EQ(edge_input(16u << 20), nullptr);
  EXPECT_EQ(Result(edge_decide(kDelete.size(), -1)).number, 500u);
}

TEST(Abi, ReadsAnyHead) {
  struct Case {
    std::string_view head;
    std::size_t status;
  };
  using namespace std::string_view_literals;
  constexpr Case kCases[] = {
      {"", 404},
      {"\n", 404},
      {"\n\n\n", 404},
      {"GET", 404},
      {"GET ", 404},
      {" /health", 405},
      {"GET /health", 200},
      {"GET /health\n", 200},
      {"GET /health\n:\nx\n::\n\n:y", 200},
      {"GET  /health", 404},
      {"GET /health HTTP/1.1\n", 404},
      {"GET /health\0\n"sv, 404},
      {"GET \xFF\xFE\n\xFF:\xFF\n", 404},
      {"POST /api/rooms/r/sandbox/exec\ncontent-type\n", 415},
      {"POST /api/rooms/r/sandbox/exec\nContent-Type:application/json\n", 415},  // names are lower case
      {"POST /api/rooms/r/sandbox/exec\ncontent-type:text/plain\ncontent-type:application/json\n", 415},
      {"POST /api/rooms/r/sandbox/exec\ncontent-type:application/json\ncontent-length:9999999\n", 413},
      {"POST /api/rooms/r/sandbox/exec\ncontent-type:application/json\ncontent-encoding:gzip", 415},
  };
  for (const Case& c : kCases) {
    const Result result = decide(c.head);
    EXPECT_EQ(result.action, kEdgeAnswer) << c.head;
    EXPECT_EQ(result.number, c.status) << c.head;
  }
}

TEST(Abi, IsAsGoodAfterALargeBodyAsBefore) {
  const std::string large = R"({"cmd":")" + std::string(3u << 20, 'x') + "\"}";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(decide(kExec, large).number, 400u);
    EXPECT_EQ(decide(kExec, R"({"cmd":"true"})").action, kEdgeForward);
    EXPECT_EQ(decide(kDelete).action, kEdgeAsk);
  }
}

}  // namespace
}  // namespace roombox
