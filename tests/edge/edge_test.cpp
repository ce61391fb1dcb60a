#include "wasm/edge.h"

#include <gtest/gtest.h>

#include "tests/edge/decisions.h"
#include "wasm/protocol/limits.h"

namespace roombox::edge {
namespace {

Answer answer_to(std::string_view method, std::string_view url) {
  Request request = exec_call();
  request.method = method;
  request.url = url;
  return expect<Answer>(decide(request));
}

int status_of(const Request& request) {
  return expect<Answer>(decide(request)).status;
}

TEST(Edge, AsksForTheBodyBeforeItDecides) {
  EXPECT_EQ(expect<ReadBody>(decide(exec_call())).limit, limits::kBody);
}

TEST(Edge, ForwardsAValidCommandToItsRoom) {
  const Forward forward = expect<Forward>(decide(exec_call(R"({"cmd":"true"})")));
  EXPECT_EQ(forward.sandbox, "sandbox-room-123");
  EXPECT_EQ(forward.method, "POST");
  EXPECT_EQ(forward.path, "/executions");
  EXPECT_EQ(forward.headers.size(), 3u);
  EXPECT_EQ(header(forward.headers, "Roombox-Sandbox"), "sandbox-room-123");
  EXPECT_EQ(header(forward.headers, "Roombox-Dialect"), "rooms");
  EXPECT_EQ(header(forward.headers, "Content-Type"), "application/json");
}

TEST(Edge, AnswersAnInvalidCommandAsThePublishedPageDoes) {
  const Answer answer = expect<Answer>(decide(exec_call(R"({"cmd":""})")));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(header(answer.headers, "Content-Type"), "application/json");
  EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-store");
  EXPECT_EQ(
      answer.body,
      R"({"error":"invalid request","details":{"cmd":["Command cannot be empty"]},"code":"invalid_request"})");
}

TEST(Edge, IgnoresTheQuery) {
  Request request = exec_call(R"({"cmd":"true"})");
  request.url = "/api/rooms/r/sandbox/exec?cmd=rm&x=/y";
  EXPECT_EQ(expect<Forward>(decide(request)).sandbox, "sandbox-r");
}

TEST(Edge, DestroysARoomsSandbox) {
  Request request = open_call();
  request.method = "DELETE";
  request.url = "/api/rooms/room-123";
  const Ask ask = expect<Ask>(decide(request));
  EXPECT_EQ(ask.operation, "destroy");
  EXPECT_EQ(ask.sandbox, "sandbox-room-123");
  EXPECT_TRUE(ask.arguments.empty());
}

TEST(Edge, HasPagesForEverybody) {
  Request request{};
  request.caller = "missing";
  request.method = "GET";
  for (const auto& [url, file] :
       {std::pair("/", "index.html"), {"/rooms/room-123?x", "room.html"}, {"/docs", "docs.html"}}) {
    request.url = url;
    EXPECT_EQ(expect<Page>(decide(request)).file, file) << url;
  }
  request.url = "/rooms/room%20123";
  EXPECT_EQ(expect<Answer>(decide(request)).status, 400);
  request.url = "/rooms/";
  EXPECT_EQ(expect<Answer>(decide(request)).status, 404);
  request.url = "/rooms/room-123";
  request.method = "POST";
  EXPECT_EQ(header(expect<Answer>(decide(request)).headers, "Allow"), "GET, HEAD");
}

TEST(Edge, RelaysToAPort) {
  Request request = open_call();
  request.caller = "key";
  request.method = "REPORT";
  request.url = "https://rooms.example/api/rooms/r%2D1/sandbox/ports/3000/a%20b//?x=&wait_ms=250&&y";
  const Forward forward = expect<Forward>(decide(request));
  EXPECT_EQ(forward.sandbox, "sandbox-r-1");
  EXPECT_EQ(forward.method, "REPORT");
  EXPECT_EQ(forward.path, "/ports/3000/a%20b//?x=&&y");
  EXPECT_EQ(forward.base, Forward::Base::Callers);
  EXPECT_EQ(forward.seed, "");
  const Headers expected = {{"Roombox-Sandbox", "sandbox-r-1"},
                            {"Roombox-Dialect", "rooms"},
                            {"Roombox-Wait", "250"},
                            {"X-Forwarded-Proto", "https"},
                            {"X-Forwarded-Host", "rooms.example"},
                            {"X-Forwarded-Prefix", "/api/rooms/r%2D1/sandbox/ports/3000"}};
  EXPECT_EQ(forward.headers, expected);
}

TEST(Edge, RelaysNothingThatNoRequestLineHas) {
  Request request = open_call();
  request.method = "GET";
  for (std::string_view url : {"/a b", "/a\tb", "/a\x7F", "/a\xC3\xA9", "/?a\rb"}) {
    const std::string whole = "/api/rooms/r/sandbox/ports/3000" + std::string(url);
    request.url = whole;
    EXPECT_EQ(status_of(request), 400) << url;
  }
  request.url = "/api/rooms/r/sandbox/ports/3000/";
  expect<Forward>(decide(request));
  for (std::string_view method : {"", "GET X", "G\xFF"}) {
    request.method = method;
    EXPECT_EQ(status_of(request), 400) << method;
  }
}

TEST(Edge, PassesOnTheCallersHeadersToPortsAlone) {
  Request request = open_call();
  request.method = "GET";
  for (std::string_view url :
       {"/api/rooms/r/sandbox/files/a", "/api/rooms/r/sandbox/executions/exec_1/events",
        "/v1/sandboxes/r/files?path=/ports/3000/a"}) {
    request.url = url;
    EXPECT_EQ(expect<Forward>(decide(request)).base, Forward::Base::None) << url;
  }
  EXPECT_EQ(expect<Forward>(decide(exec_call(R"({"cmd":"true"})"))).base, Forward::Base::None);
}

TEST(Edge, TellsWhereAPortIsReached) {
  Request request = exec_call(R"({"port":3000})");
  request.caller = "key";
  request.url = "https://rooms.example:8787/v1/sandboxes/sbx%5F1/ports?x";
  Answer answer = expect<Answer>(decide(request));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"object":"port","port":3000,"url":"https://rooms.example:8787/api/rooms/sbx_1/sandbox/ports/3000/"})");
  EXPECT_EQ(header(answer.headers, "Cache-Control"), "no-store");
  request.body.reset();
  expect<ReadBody>(decide(request));
}

TEST(Edge, PutsToSleepAndWakes) {
  Request request = open_call();
  request.method = "POST";
  request.url = "/api/rooms/room-123/sleep";
  Ask ask = expect<Ask>(decide(request));
  EXPECT_EQ(ask.operation, "sleep");
  EXPECT_EQ(ask.sandbox, "sandbox-room-123");
  EXPECT_TRUE(ask.arguments.empty());
  request.url = "/api/sandboxes/r/wake";
  expect<ReadBody>(decide(request));
  request.body = "";
  ask = expect<Ask>(decide(request));
  EXPECT_EQ(ask.operation, "wake");
  EXPECT_TRUE(ask.arguments.empty());
  request.content_type = "application/json";
  request.body = R"({"timeout":0})";
  EXPECT_EQ(header(expect<Ask>(decide(request)).arguments, "sleep_after_ms"), "0");
}

TEST(Edge, TellsItsHealth) {
  for (std::string_view method : {"GET", "HEAD"}) {
    const Answer answer = answer_to(method, "/health");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "ok");
    EXPECT_EQ(header(answer.headers, "Content-Type"), "text/plain");
  }
}

TEST(Edge, WantsARoomId) {
  for (std::string_view path : {"/api/rooms/", "/api/rooms//sandbox/exec", "/api/rooms/?x=y"}) {
    for (std::string_view method : {"GET", "POST", "DELETE"}) {
      const Answer answer = answer_to(method, path);
      EXPECT_EQ(answer.status, 404) << path;
      EXPECT_EQ(answer.body, R"({"error":"not found - room ID is required","code":"not_found"})") << path;
    }
  }
}

TEST(Edge, SaysWhatThereIsWhereThereIsNothing) {
  for (std::string_view path : {"", "/api", "/healthz", "/api/rooms/a/b/sandbox/exec", "/api/rooms/r/sandbox",
                                "/api/rooms/r/", "/api/rooms/r/sandbox/exec/", "/api/rooms/%zz/x", "nonsense",
                                "/api/rooms/r/sandbox/executions/exec_1/"}) {
    const Answer answer = answer_to("POST", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_TRUE(answer.body.starts_with(R"({"error":"not found - no call has this path; )")) << answer.body;
    EXPECT_TRUE(
        answer.body.ends_with(R"(such as POST /api/rooms/{roomID}/sandbox/exec","code":"not_found"})"));
  }
}

TEST(Edge, NamesTheProtocolThatACallIsFor) {  // a proxy takes the header away: RFC 9110, 7.6.1
  const Answer answer = answer_to("GET", "/api/rooms/r/sandbox/executions/exec_1/attach");
  EXPECT_EQ(answer.status, 426);
  EXPECT_EQ(header(answer.headers, "Upgrade"), "websocket");
}

TEST(Edge, AllowsOnlyTheMethodsThereAre) {
  struct Case {
    std::string_view path;
    std::string_view allow;
    std::string_view methods;
  };
  constexpr Case kCases[] = {{"/api/rooms/r/sandbox/exec", "POST", "POST is"},
                             {"/api/rooms/r", "GET, HEAD, DELETE", "GET and DELETE are"},
                             {"/health", "GET, HEAD", "GET is"}};
  for (const Case& c : kCases) {
    for (std::string_view method : {"PUT", "OPTIONS", "PATCH", "TRACE", "post", "", "P\xFF"}) {
      const Answer answer = answer_to(method, c.path);
      EXPECT_EQ(answer.status, 405) << method << c.path;
      EXPECT_EQ(header(answer.headers, "Allow"), c.allow);
      EXPECT_EQ(answer.body, "{\"error\":\"method not allowed - only " + std::string(c.methods) +
                                 " supported\",\"code\":\"method_not_allowed\"}");
    }
  }
  EXPECT_EQ(answer_to("HEAD", "/api/rooms/r/sandbox/exec").status, 405);
  EXPECT_EQ(answer_to("POST", "/api/rooms/r").status, 405);
}

TEST(Edge, ExplainsTheRuleOfRoomIds) {
  for (std::string_view path : {"/api/rooms/a%2Fb", "/api/rooms/-a", "/api/rooms/..", "/api/rooms/a%00b"}) {
    const Answer answer = answer_to("DELETE", path);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_EQ(answer.body,
              R"({"error":"invalid request","details":{"roomID":["A room ID has 1 to 64 characters of )"
              R"(A-Z a-z 0-9 . _ - and begins and ends with a letter or digit"]},"code":"invalid_request"})");
  }
}

TEST(Edge, WantsJsonByAnyOfItsSpellings) {
  for (std::string_view type : {"application/json", "Application/JSON", "application/json; charset=utf-8",
                                "application/json;a=\"b;c\"", " application/json\t;", "application/json "}) {
    Request request = exec_call();
    request.content_type = type;
    expect<ReadBody>(decide(request));
  }
  for (std::string_view type :
       {"", "text/plain", "application/jsonp", "application/json, text/plain", "json",
        "application/x-www-form-urlencoded", ";application/json", " ", "application/problem+json"}) {
    Request request = exec_call(R"({"cmd":"true"})");
    request.content_type = type;
    EXPECT_EQ(status_of(request), 415) << type;
  }
}

TEST(Edge, TakesNoEncodedBody) {
  Request request = exec_call();
  request.content_encoding = "Identity";
  expect<ReadBody>(decide(request));
  for (std::string_view encoding : {"gzip", "br", "identity, gzip", "x"}) {
    request.content_encoding = encoding;
    EXPECT_EQ(status_of(request), 415) << encoding;
  }
}

TEST(Edge, RefusesADeclaredLengthOverTheLimitUnread) {
  Request request = exec_call();
  for (std::string_view length : {"4194305", "99999999999999999999999999", "18446744073709551616"}) {
    request.content_length = length;
    EXPECT_EQ(status_of(request), 413) << length;
  }
  for (std::string_view length : {"4194304", "0", "", "-1", "+5", "4194305x", "x", " 4194305", "0x400001"}) {
    request.content_length = length;
    EXPECT_EQ(expect<ReadBody>(decide(request)).limit, limits::kBody) << length;
  }
}

TEST(Edge, RefusesABodyOverTheLimit) {
  std::string body = R"({"cmd":"true"})";
  body.resize(limits::kBody, ' ');
  expect<Forward>(decide(exec_call(body)));
  body += ' ';
  const Answer answer = expect<Answer>(decide(exec_call(body)));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body,
            R"({"error":"payload too large - a body has at most 4194304 bytes","code":"payload_too_large"})");
}

// Path, method, room id, type, length, body: each is looked at only when those before it are right.
TEST(Edge, ChecksInOrder) {
  Request request = open_call();
  request.method = "GET";
  request.url = "/api/rooms/-/sandbox/exe";
  request.content_length = "999999999";
  EXPECT_EQ(status_of(request), 404);
  request.url = "/api/rooms/-/sandbox/exec";
  EXPECT_EQ(status_of(request), 405);
  request.method = "POST";
  EXPECT_EQ(status_of(request), 400);
  request.url = "/api/rooms/r/sandbox/exec";
  EXPECT_EQ(status_of(request), 415);
  request.content_type = "application/json";
  EXPECT_EQ(status_of(request), 413);
  request.content_length = "2";
  expect<ReadBody>(decide(request));
  request.body = "[]";
  EXPECT_EQ(status_of(request), 400);
}

/// A call to a port, of a URL and headers of so many bytes.
Request of_size(std::size_t headers, const std::string& url) {
  Request request = open_call();
  request.method = "GET";
  request.url = url;
  static std::string bytes;
  bytes = std::to_string(headers);
  request.header_bytes = bytes;
  return request;
}

std::string long_url(std::string_view start, std::size_t size) {
  std::string url(start);
  return url.append(size - url.size(), 'x');
}

TEST(Edge, RefusesAUrlThatIsTooLong) {
  for (std::string_view start : {"http://localhost/api/rooms/r/sandbox/files/", "http://localhost/v1/x",
                                 "http://localhost/api/sandboxes/", "/"}) {
    const auto answer = expect<Answer>(decide(of_size(0, long_url(start, limits::kUrl + 1))));
    EXPECT_EQ(answer.status, 414) << start;
    EXPECT_NE(answer.body.find("at most 14336 bytes"), std::string::npos) << answer.body;
  }
  const std::string fits = long_url("http://localhost/api/rooms/r?", limits::kUrl);
  expect<Ask>(decide(of_size(limits::kHeaders, fits)));
}

TEST(Edge, TakesTheLongestPathOfAFileHoweverEncoded) {
  std::string url = "https://a-rather-long-name-of-a-host.example/api/rooms/r/sandbox/files";
  for (int name = 0; name < 20; ++name) {
    url += '/';
    for (int byte = 0; byte < 203; ++byte) url += "%C3";
  }
  Request request = of_size(0, url);
  request.caller = "key";
  EXPECT_EQ(expect<Forward>(decide(request)).method, "GET");
}

TEST(Edge, RefusesHeadersThatAreTooLarge) {
  const std::string url = "http://localhost/api/rooms/r";
  expect<Ask>(decide(of_size(limits::kHeaders, url)));
  const auto answer = expect<Answer>(decide(of_size(limits::kHeaders + 1, url)));
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(answer.code, "headers_too_large");
  EXPECT_NE(answer.body.find("at most 32768 bytes"), std::string::npos) << answer.body;
}

TEST(Edge, RefusesAHeadForAPortThatTheAgentWouldNotTake) {
  const std::string url = "http://localhost/api/rooms/r/sandbox/ports/3000/";
  const auto relayed = expect<Forward>(decide(of_size(limits::kRelayedHead - url.size(), url)));
  EXPECT_EQ(relayed.base, Forward::Base::Callers);
  const auto answer = expect<Answer>(decide(of_size(limits::kRelayedHead - url.size() + 1, url)));
  EXPECT_EQ(answer.status, 431);
  EXPECT_NE(answer.body.find("15360 bytes together"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace roombox::edge
