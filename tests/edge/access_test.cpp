#include "wasm/access.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/edge/decisions.h"

namespace roombox::edge {
namespace {

Request call(std::string_view caller, std::string_view method = "GET",
             std::string_view url = "https://roombox.example/api/rooms/team-1") {
  Request request{};
  request.method = method;
  request.url = url;
  request.caller = caller;
  return request;
}

int status_of(const Request& request) {
  const Decision decision = decide(request);
  const auto* const answer = std::get_if<Answer>(&decision);
  return answer == nullptr ? 200 : answer->status;  // let in, whatever comes of it
}

TEST(Access, LetsNobodyInWhoIsNobodyAndSaysWhatToDo) {
  struct Case {
    std::string_view caller, message;
  };
  for (const Case& c : {Case{"missing", "Missing: send an API key"},
                        {"invalid", "No API key is this one"},
                        {"expired", "has expired"},
                        {"unconfigured", "wrangler secret put"},
                        {"nonsense", "wrangler secret put"},
                        {"", "wrangler secret put"},
                        {"keys", "wrangler secret put"},
                        {"token", "wrangler secret put"}}) {
    const auto answer = expect<Answer>(decide(call(c.caller)));
    EXPECT_EQ(answer.status, 401) << c.caller;
    EXPECT_EQ(header(answer.headers, "WWW-Authenticate"), "Bearer");
    EXPECT_TRUE(answer.body.starts_with(R"({"error":"unauthorized","details":{"authorization":[")"))
        << answer.body;
    EXPECT_NE(answer.body.find(c.message), std::string::npos) << answer.body;
  }
  Request request = call("");
  request.caller.reset();
  EXPECT_EQ(status_of(request), 401);
}

TEST(Access, TellsNobodyWhetherARoomIdIsRight) {
  EXPECT_EQ(status_of(call("missing", "GET", "https://roombox.example/api/rooms/-a")), 401);
  EXPECT_EQ(status_of(call("missing", "GET", "https://roombox.example/api/rooms/r/sandbox/executions/no")),
            401);
  EXPECT_EQ(status_of(call("key", "GET", "https://roombox.example/api/rooms/-a")), 400);
}

TEST(Access, LetsAnybodyAskForHealth) {
  EXPECT_EQ(status_of(call("missing", "GET", "https://roombox.example/health")), 200);
}

TEST(Access, LetsAKeyDoAll) {
  EXPECT_EQ(status_of(call("key")), 200);
  EXPECT_EQ(status_of(call("key", "GET", "https://roombox.example/api/rooms")), 200);
  EXPECT_EQ(status_of(call("key", "POST", "https://roombox.example/v1/sandboxes")), 200);
}

TEST(Access, HoldsATokenToItsRoomAndScopes) {
  struct Case {
    std::string_view caller, method, path;
    int status;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"token read team-1", "GET", "/api/rooms/team-1", 200},
           {"token read team-2", "GET", "/api/rooms/team-1", 403},
           {"token read team-", "GET", "/api/rooms/team-1", 403},
           {"token read team-*", "GET", "/api/rooms/team-1", 200},
           {"token read *", "GET", "/api/rooms/team-1", 200},
           {"token read team-1", "GET", "/api/rooms/team%2D1", 200},
           {"token read team-*", "GET", "/api/rooms/team%2D1", 200},
           {"token read a*", "GET", "/api/rooms/a%2Fb", 400},
           {"token read team-1", "GET", "/api/rooms/Team-1", 403},
           {"token read team-1", "DELETE", "/api/rooms/team-1", 403},
           {"token delete team-1", "DELETE", "/api/rooms/team-1", 200},
           {"token exec,read team-1", "POST", "/api/rooms/team-1/sandbox/exec", 415},
           {"token read team-1", "POST", "/api/rooms/team-1/sandbox/exec", 403},
           {"token exec team-1", "POST", "/api/rooms/team-1/sleep", 200},
           {"token files team-1", "GET", "/api/rooms/team-1/sandbox/files/a", 200},
           {"token exec team-1", "GET", "/api/rooms/team-1/sandbox/files/a", 403},
           {"token ports team-1", "POST", "/api/rooms/team-1/sandbox/ports/3000/", 200},
           {"token read,exec,files,attach,delete team-1", "GET", "/api/rooms/team-1/sandbox/ports/3000/",
            403},
           {"token attach team-1", "GET", "/api/rooms/team-1/sandbox/executions/exec_1/attach", 426},
           {"token read team-1", "GET", "/api/rooms/team-1/sandbox/executions/exec_1/attach", 403},
           {"token read team-1", "GET", "/api/rooms/team-1/presence?name=a", 426},
           {"token exec,attach team-1", "GET", "/api/rooms/team-1/presence?name=a", 403},
           {"token read,exec,files,attach,ports,delete *", "GET", "/api/rooms", 403},
           {"token read,exec,files,attach,ports,delete *", "POST", "/api/sandboxes", 403},
           {"token  team-1", "GET", "/api/rooms/team-1", 403},
           {"token read ", "GET", "/api/rooms/team-1", 403},
           {"token read team-1", "GET", "/v1/sandboxes/team-1", 200},
           {"token read team-1", "GET", "/v1/sandboxes/team-2", 403},
           {"token exec team-1", "POST", "/api/sandboxes/team-1/hibernate", 200},
       }) {
    const std::string url = "https://roombox.example" + std::string(c.path);
    EXPECT_EQ(status_of(call(c.caller, c.method, url)), c.status)
        << c.caller << ": " << c.method << " " << c.path;
  }
}

TEST(Access, RefusesATokenWithAScopeThatThereIsNoneOf) {
  for (std::string_view caller : {"token admin team-1", "token read,all team-1", "token exec%2Cread team-1",
                                  "token read,Exec team-1", "token read,none team-1"}) {
    const auto answer = expect<Answer>(decide(call(caller)));
    EXPECT_EQ(answer.status, 401) << caller;
    EXPECT_NE(answer.body.find("a scope that there is none of"), std::string::npos) << answer.body;
  }
}

TEST(Access, NamesTheSecretThatCannotBeRead) {
  const auto answer = expect<Answer>(decide(call("unreadable TOKEN_KEY_APP")));
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("the secret TOKEN_KEY_APP is neither a public key"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("code":"internal")"), std::string::npos) << answer.body;
  EXPECT_EQ(status_of(call("unreadable TOKEN_KEY_APP", "GET", "https://roombox.example/health")), 200);
}

TEST(Access, SaysWhatATokenLacks) {
  const auto scope = expect<Answer>(decide(call("token exec,files team-1")));
  EXPECT_EQ(
      scope.body,
      R"({"error":"forbidden","details":{"scope":["The call needs the scope read; the token has: exec,files"]},)"
      R"("code":"forbidden"})");
  const auto room = expect<Answer>(decide(call("token read x")));
  EXPECT_NE(room.body.find("for another room"), std::string::npos) << room.body;
}

TEST(Access, IsOpenToThisMachineAlone) {
  for (std::string_view host :
       {"localhost", "localhost:8787", "127.0.0.1:8787", "[::1]:8787", "[::1]", "a.localhost"}) {
    EXPECT_EQ(status_of(call("open", "GET", "http://" + std::string(host) + "/api/rooms/r")), 200) << host;
  }
  for (std::string_view host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                                "10.0.0.1:8787", "[::2]:8787", "notlocalhost"}) {
    const std::string url = "http://" + std::string(host) + "/api/rooms/r";
    EXPECT_EQ(status_of(call("open", "GET", url)), 403) << host;
    EXPECT_EQ(status_of(call("key", "GET", url)), 200) << host;
  }
}

Request from_page(std::string_view origin, std::string_view method = "GET") {
  Request request = call("key", method);
  request.origin = origin;
  request.allowed_origins = "https://app.example https://other.example:8443";
  return request;
}

TEST(Access, LetsPagesOfAllowedOriginsReadAnswers) {
  const auto origin_allowed = [](const Request& request) {
    const Decision decision = decide(request);
    if (const auto* const forward = std::get_if<Forward>(&decision))
      return header(forward->reply_headers, "Access-Control-Allow-Origin");
    return header(answer_outcome(request, "room\nsandbox 9\nsandbox-rstatus 6\nasleep").headers,
                  "Access-Control-Allow-Origin");
  };
  EXPECT_EQ(origin_allowed(from_page("https://app.example")), "https://app.example");
  EXPECT_EQ(origin_allowed(from_page("https://other.example:8443")), "https://other.example:8443");
  for (std::string_view origin : {"https://other.example", "http://app.example", "https://app.example.evil",
                                  "null", "", "*", "https://APP.example"}) {
    EXPECT_EQ(origin_allowed(from_page(origin)), "") << origin;
  }
  Request files = from_page("https://app.example");
  files.url = "https://roombox.example/api/rooms/r/sandbox/files/a";
  EXPECT_EQ(origin_allowed(files), "https://app.example");
  files.origin = "https://roombox.example";  // its own
  EXPECT_EQ(origin_allowed(files), "");
  EXPECT_EQ(status_of(files), 200);
}

TEST(Access, KeepsPagesOfOtherOriginsFromChangingAnything) {
  for (std::string_view method : {"POST", "PUT", "DELETE", "PATCH"}) {
    Request request = from_page("https://evil.example", method);
    request.url = "https://roombox.example/api/rooms/r/sandbox/ports/3000/";
    const auto answer = expect<Answer>(decide(request));
    EXPECT_EQ(answer.status, 403) << method;
    EXPECT_NE(answer.body.find("Pages of https://evil.example may not"), std::string::npos) << answer.body;
    request.origin = "https://app.example";
    EXPECT_EQ(status_of(request), 200) << method;
  }
  Request socket = from_page("https://evil.example");
  socket.url = "https://roombox.example/api/rooms/r/sandbox/executions/exec_1/attach";
  socket.upgrade = "websocket";
  EXPECT_EQ(status_of(socket), 403);
  socket.origin = "https://app.example";
  EXPECT_EQ(status_of(socket), 200);
}

TEST(Access, AnswersWhatABrowserAsksFirst) {
  Request request = from_page("https://app.example", "OPTIONS");
  request.caller = "missing";  // browsers send no credentials with it
  request.preflight_method = "DELETE";
  request.preflight_headers = "authorization,content-type";
  const auto answer = expect<Answer>(decide(request));
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(header(answer.headers, "Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(header(answer.headers, "Access-Control-Allow-Methods"), "GET, HEAD, DELETE");
  EXPECT_EQ(header(answer.headers, "Access-Control-Allow-Headers"), "authorization,content-type");
  EXPECT_EQ(header(answer.headers, "Access-Control-Allow-Credentials"), "");
  request.url = "https://roombox.example/api/rooms/r/sandbox/ports/3000/a";
  request.preflight_method = "PATCH";
  EXPECT_EQ(header(expect<Answer>(decide(request)).headers, "Access-Control-Allow-Methods"), "PATCH");
  request.origin = "https://evil.example";
  EXPECT_EQ(status_of(request), 403);
  request.url = "https://roombox.example/nowhere";
  request.origin = "https://app.example";
  EXPECT_EQ(status_of(request), 404);
}

}  // namespace
}  // namespace roombox::edge
