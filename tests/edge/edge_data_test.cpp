#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/edge/decisions.h"
#include "wasm/edge.h"

extern const std::string_view kEdgeCases;  // tests/data/edge.json, embedded

namespace roombox::edge {
namespace {

using nlohmann::json;

std::string base64_decoded(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned buffer = 0;
  unsigned bits = 0;
  for (char c : text.substr(0, text.find('='))) {
    buffer = (buffer << 6 | static_cast<unsigned>(kAlphabet.find(c))) & 0xFFFF;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(buffer >> bits & 0xFF);
  }
  return bytes;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t count = 0; count < times; ++count) out += text;
  return out;
}

std::string part_of_body(const json& part) {
  if (part.is_string()) return part.get<std::string>();
  if (part.contains("base64")) return base64_decoded(part.at("base64").get<std::string>());
  return repeated(part.at("repeat").get<std::string>(), part.at("times").get<std::size_t>());
}

std::string body_of(const json& request) {
  const json body = request.value("body", json(""));
  if (body.is_string()) return body.get<std::string>();
  std::string bytes;
  for (const json& part : body) bytes += part_of_body(part);
  return bytes;
}

const json& cases() {
  static const json parsed = json::parse(kEdgeCases, nullptr, false);
  return parsed;
}

std::string test_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string name = cases()[info.param].value("name", "");
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

std::optional<std::string_view> value_of(const json& headers, const char* name) {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  return std::string_view(found->get_ref<const std::string&>());
}

/// Does what a host does: asks for the decision, reads the body if told to, asks again.
Decision carry(const json& sent, const std::string& body) {
  const std::string method = sent.at("method");
  const std::string url = "http://localhost" + sent.at("path").get<std::string>();
  const json headers = sent.value("headers", json::object());
  Request request = open_call();
  request.method = method;
  request.url = url;
  request.content_type = value_of(headers, "content-type");
  request.content_length = value_of(headers, "content-length");
  request.content_encoding = value_of(headers, "content-encoding");
  request.idempotency_key = value_of(headers, "idempotency-key");
  request.last_event_id = value_of(headers, "last-event-id");
  request.upgrade = value_of(headers, "upgrade");
  request.range = value_of(headers, "range");
  request.if_range = value_of(headers, "if-range");
  request.if_match = value_of(headers, "if-match");
  request.if_none_match = value_of(headers, "if-none-match");
  Decision decision = decide(request);
  if (!std::holds_alternative<ReadBody>(decision)) return decision;
  request.body = std::string_view(body).substr(0, expect<ReadBody>(decision).limit + 1);
  return decide(request);
}

void check_headers(const Headers& headers, const json& expected) {
  for (const auto& [name, value] : expected.items())
    EXPECT_EQ(header(headers, name), value.get<std::string>());
}

void check_answer(const Answer& answer, const json& expected) {
  EXPECT_EQ(answer.status, expected.at("status").get<int>());
  check_headers(answer.headers, expected.value("headers", json::object()));
  if (expected.contains("text")) {
    EXPECT_EQ(answer.body, expected.at("text").get<std::string>());
  }
  if (expected.contains("json")) {
    EXPECT_EQ(json::parse(answer.body, nullptr, false), expected.at("json"));
  }
}

void check_forward(const Forward& forward, const json& expected) {
  EXPECT_EQ(forward.sandbox, expected.at("sandbox").get<std::string>());
  EXPECT_EQ(forward.method, expected.value("method", "POST"));
  EXPECT_EQ(forward.path, expected.value("path", "/executions"));
  check_headers(forward.headers, expected.value("headers", json::object()));
  if (expected.contains("seed")) {
    EXPECT_EQ(forward.seed, expected.at("seed").get<std::string>());
  }
}

void check_ask(const Ask& ask, const json& expected) {
  EXPECT_EQ(ask.operation, expected.at("operation").get<std::string>());
  EXPECT_EQ(ask.sandbox, expected.at("sandbox").get<std::string>());
  check_headers(ask.arguments, expected.at("arguments"));
  EXPECT_EQ(ask.arguments.size(), expected.at("arguments").size());
}

class EdgeData : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EdgeData, DecidesAsTheCaseSays) {
  const json& expected = cases()[GetParam()].at("expect");
  const json& sent = cases()[GetParam()].at("request");
  const Decision decision = carry(sent, body_of(sent));
  const std::string action = expected.at("action");
  if (action == "answer") {
    check_answer(expect<Answer>(decision), expected);
  } else if (action == "forward") {
    check_forward(expect<Forward>(decision), expected);
  } else {
    ASSERT_EQ(action, "ask");
    check_ask(expect<Ask>(decision), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EdgeData, ::testing::Range<std::size_t>(0, cases().size()), test_name);

}  // namespace
}  // namespace roombox::edge
