#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/stream.h"

/// What the tests of events share: logs, and what a client makes of events.
namespace roombox::sse {

struct Event {
  std::uint64_t id;
  std::string name;
  nlohmann::json data;
};

/// Reads events as the standard has it, as far as we use it: every event of ours has the three lines.
inline std::vector<Event> parse(std::string_view text) {
  std::vector<Event> events;
  while (!text.empty()) {
    const std::size_t end = text.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << text;
    const std::string block(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
    if (block.starts_with(":")) continue;
    const std::size_t name = block.find("\nevent: ");
    const std::size_t data = block.find("\ndata: ");
    EXPECT_TRUE(block.starts_with("id: ") && name < data && data < block.size()) << block;
    EXPECT_EQ(block.find('\n', data + 1), std::string::npos) << block;
    EXPECT_EQ(block.find('\r'), std::string::npos) << block;
    events.push_back({std::stoull(block.substr(4, name - 4)), block.substr(name + 8, data - name - 8),
                      nlohmann::json::parse(block.substr(data + 7), nullptr, false)});
    EXPECT_FALSE(events.back().data.is_discarded()) << block;
  }
  return events;
}

/// The texts of stdout and stderr that events bring.
using Texts = std::array<std::string, 2>;

inline void add(Texts& texts, const Event& event) {
  if (event.name == "stdout") texts[0] += event.data.at("data").get<std::string>();
  if (event.name == "stderr") texts[1] += event.data.at("data").get<std::string>();
}

/// What an execution wrote, in order.
struct Piece {
  Stream stream;
  std::string bytes;
};
using Log = std::vector<Piece>;

inline std::string decoded(std::string_view bytes) {
  std::string text = "\"";
  JsonWriter::append_escaped(text, bytes);
  return nlohmann::json::parse(text + '"', nullptr, false).get<std::string>();
}

/// All bytes of each stream.
inline Texts whole_bytes(const Log& log) {
  Texts bytes;
  for (const Piece& piece : log) bytes[static_cast<std::size_t>(piece.stream)] += piece.bytes;
  return bytes;
}

/// What a client must have in the end.
inline Texts whole_texts(const Log& log) {
  const Texts bytes = whole_bytes(log);
  return {decoded(bytes[0]), decoded(bytes[1])};
}

}  // namespace roombox::sse
