#include "tests/agent/bench/sse.h"

#include "container/sys/parse.h"
#include "tests/agent/bench/support.h"

namespace roombox::bench {

void SseReader::take(std::string_view bytes) {
  rest_ += bytes;
  std::size_t from = 0;
  for (std::size_t end; (end = rest_.find('\n', from)) != rest_.npos; from = end + 1)
    take_line(std::string_view(rest_).substr(from, end - from));
  rest_.erase(0, from);
}

void SseReader::take_line(std::string_view line) {
  if (line.empty()) {
    if (!event_.name.empty()) on_event_(event_);
    event_ = {};
    return;
  }
  if (line.front() == ':') return;
  const auto colon = line.find(": ");
  if (colon == line.npos) fail("no field of an event: " + std::string(line));
  const auto name = line.substr(0, colon), value = line.substr(colon + 2);
  if (name == "event") {
    event_.name = value;
  } else if (name == "data") {
    event_.data += value;
  } else if (name == "id") {
    const auto id = sys::parse<std::uint64_t>(value);
    if (!id) fail("no id of an event: " + std::string(value));
    event_.id = *id;
  } else {
    fail("an unknown field of an event: " + std::string(line));
  }
}

}  // namespace roombox::bench
