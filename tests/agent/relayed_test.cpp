#include <gmock/gmock.h>

#include "container/relayed_body.h"
#include "container/relayed_head.h"

// What a relay makes of heads and bodies, without connections.

namespace roombox {
namespace {

/// What of the bytes is the body's, given in pieces.
std::string taken(std::optional<std::uint64_t> size, std::string_view bytes, std::size_t piece) {
  RelayedBody body(size);
  std::string all;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto next = bytes.substr(0, piece);
    all += next.substr(0, body.take(next));
  }
  return all;
}

TEST(RelayedBody, EndsWhereItsLengthSays) {
  for (std::size_t piece = 1; piece < 9; ++piece) {
    EXPECT_EQ(taken(5, "helloGET / HTTP/1.1", piece), "hello");
    EXPECT_EQ(taken(5, "hell", piece), "hell");
    EXPECT_EQ(taken(0, "GET /", piece), "");
  }
}

TEST(RelayedBody, EndsAfterItsLastChunk) {
  for (const std::string body :
       {"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "A;x=\"0\"\r\n0\r\n\r\n0\r\n\r\r\n00\r\n\r\n",
        "000b\r\nhello\nworld\r\n0;last\r\nTrailer: 1\r\nOther: 2\r\n\r\n", "1\nx\n0\n\n",
        "3 \r\nabc\r\n0\r\nA\rB: c\r\n\r\n"}) {
    for (std::size_t piece = 1; piece < 40; ++piece) {
      EXPECT_EQ(taken(std::nullopt, body + "POST /executions HTTP/1.1\r\n", piece), body) << piece;
    }
  }
  EXPECT_EQ(taken(std::nullopt, "5\r\nhel", 3), "5\r\nhel");
}

TEST(RelayedBody, EndsAtAChunkThatNobodyCanCount) {
  EXPECT_LT(taken(std::nullopt, "fffffffffffffffff\r\nx", 1).size(), 20u);
}

TEST(RelayedHead, EndsAtItsEmptyLine) {
  EXPECT_EQ(response_head_size("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n"), 25u);
  EXPECT_EQ(response_head_size("HTTP/1.1 200 OK\nA: b\n\nbody"), 22u);
  EXPECT_EQ(response_head_size("HTTP/1.1 200 OK\r\nA: b\r\n\r"), 0u);
  EXPECT_EQ(response_head_size(""), 0u);
}

TEST(RelayedHead, IsWrittenAnew) {
  const auto head = parse_response_head(
      "HTTP/1.0 299\nA:  b c\t\r\nEmpty:\r\nConnection: x, , A-B,content-length\nX: 1\r\na-b: "
      "2\r\nCONTENT-LENGTH: 3\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 299u);
  EXPECT_EQ(relayed_response(*head, Protocol::Http),
            "HTTP/1.0 299\r\nA: b c\r\nEmpty: \r\nCONTENT-LENGTH: 3\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(has_framed_body(*head));
}

/// A server's answer with a header and another one, as the client gets it.
std::string relayed_with(const std::string& header, Protocol protocol) {
  const std::string bytes = "HTTP/1.1 200 OK\r\n" + header + "\r\nA: b\r\n\r\n";
  const auto head = parse_response_head(bytes);
  return head ? relayed_response(*head, protocol) : "none";
}

TEST(RelayedHead, HasNoFieldThatIsReservedForTheConnection) {
  for (const std::string_view field : {"close: x\n", "Close:\n", "Keep-Alive: timeout=5\n"}) {
    const std::string bytes = "HTTP/1.1 200 OK\n" + std::string(field) + "\n";
    const auto head = parse_response_head(bytes);
    ASSERT_TRUE(head) << field;
    EXPECT_EQ(relayed_response(*head, Protocol::Http), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        << field;
  }
}

TEST(RelayedHead, DoesNotSpeakForTheApisOrigin) {
  for (const std::string header :
       {"Access-Control-Allow-Origin: *", "access-control-allow-credentials: true",
        "ACCESS-CONTROL-EXPOSE-HEADERS: *", "Access-Control-Allow-Private-Network: true",
        "Clear-Site-Data: \"*\"", "Service-Worker-Allowed: /", "SERVICE-WORKER-ALLOWED: /",
        "Roombox-Boot: x"}) {
    EXPECT_EQ(relayed_with(header, Protocol::Http), "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n")
        << header;
    EXPECT_EQ(relayed_with(header, Protocol::WebSocket),
              "HTTP/1.1 200 OK\r\nA: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        << header;
  }
  for (const std::string header : {"Access-Control: x", "Set-Cookie: a=b", "Service-Worker: script",
                                   "X-Access-Control-Allow-Origin: *"}) {
    EXPECT_EQ(relayed_with(header, Protocol::Http),
              "HTTP/1.1 200 OK\r\n" + header + "\r\nA: b\r\nConnection: close\r\n\r\n");
  }
}

TEST(RelayedHead, IsRefusedWhereReadersMayDiffer) {
  for (const std::string_view line : {"HTTP/1.1", "HTTP/2.0 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 099 OK",
                                      "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 200 O\rK",
                                      "SSH-2.0-OpenSSH_9.2", "", "HTTP/1.1 +20 OK", "http/1.1 200 OK"}) {
    EXPECT_FALSE(parse_response_head(std::string(line) + "\r\n\r\n")) << line;
  }
  for (const std::string_view field : {"no colon", ": no name", "a b: c", "Roombox-Outcome : x", " folded: x",
                                       "\tfolded", "a: b\rc", "a\r: b", "a\x01: b", "\xc3\xa9: x"}) {
    EXPECT_FALSE(parse_response_head("HTTP/1.1 200 OK\r\nA: b\r\n" + std::string(field) + "\r\n\r\n"))
        << field;
  }
  EXPECT_FALSE(parse_response_head(std::string_view("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", 27)));
  EXPECT_TRUE(parse_response_head("HTTP/1.1 200 \xc3\xa9\r\nA: \xc3\xa9\t\"\r\n\r\n"));
}

TEST(RelayedHead, IsRefusedWhereItsBodyHasNoClearEnd) {
  for (const std::string headers :
       {"Content-Length: -1", "Content-Length: +3", "Content-Length: abc",
        "Content-Length:", "Content-Length: 5, 5", "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 99999999999999999999999", "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked\r\ncontent-length: 5"}) {
    EXPECT_FALSE(parse_response_head("HTTP/1.1 200 OK\r\n" + headers + "\r\n\r\n")) << headers;
  }
  for (const std::string headers :
       {"Content-Length: 0", "Content-Length: 999999999999999", "Transfer-Encoding: Chunked", "X: y"}) {
    EXPECT_TRUE(parse_response_head("HTTP/1.1 200 OK\r\n" + headers + "\r\n\r\n")) << headers;
  }
  for (const std::string status : {"600", "999", "099"})
    EXPECT_FALSE(parse_response_head("HTTP/1.1 " + status + " No\r\n\r\n")) << status;
}

}  // namespace
}  // namespace roombox
