// The first byte says at what places the others are cut, the second which of the pieces are stderr's.
// Wherever a command's output is cut, its events bring the same text of each stream, and the ids of a reader
// that resumes.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wasm/protocol/attach.h"
#include "wasm/protocol/sse.h"

namespace {

using namespace roombox;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The text of the JSON strings that events of a name have as data, one after another, still escaped.
std::string data_of(std::string_view events, std::string_view name) {
  const std::string begin = "event: " + std::string(name) + "\ndata: {\"data\":\"";
  std::string all;
  for (std::size_t at = events.find(begin); at != events.npos; at = events.find(begin, at)) {
    at += begin.size();
    const std::size_t end = events.find("\"}\n\n", at);
    require(end != events.npos);
    all += events.substr(at, end - at);
  }
  return all;
}

struct Told {
  std::string out, err;
};

Told tell(std::string_view bytes, std::size_t piece, std::uint8_t errors) {
  sse::OutputEvents events(Encoding::Utf8);
  std::string text;
  std::uint64_t units = 1;
  unsigned turn = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = bytes.substr(at, piece);
    units += part.size();
    const bool is_error = (errors >> (turn++ % 8) & 1) != 0;
    events.append(text, is_error ? Stream::Stderr : Stream::Stdout, part, units);
  }
  events.finish(text, units - 1);
  return {data_of(text, "stdout"), data_of(text, "stderr")};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Told whole = tell(rest, rest.size() + 1, 0);
  const Told cut = tell(rest, data[0] % 16u + 1, 0);
  require(whole.out == cut.out && whole.err.empty() && cut.err.empty());
  tell(rest, data[0] % 16u + 1, data[1]);
  (void)attach::parse_control(rest);
  return 0;
}
