#include "tests/agent/bench/stream_reader.h"

#include <sys/socket.h>

#include "tests/agent/bench/support.h"

namespace roombox::bench {
namespace {

constexpr std::size_t kStep = 256u << 10;

}  // namespace

std::size_t StreamReader::read(int socket) {
  total_ = 0;
  for (;;) {
    const auto at = total_ % bytes_.size();
    const auto most = std::min(kStep, bytes_.size() - at);
    const auto size = must("recv", ::recv(socket, bytes_.data() + at, most, 0));
    if (size == 0) return total_;
    total_ += static_cast<std::size_t>(size);
  }
}

std::string StreamReader::last() const {
  if (total_ <= bytes_.size()) return bytes_.substr(0, total_);
  const auto at = total_ % bytes_.size();
  return bytes_.substr(at) + bytes_.substr(0, at);
}

void check_events(const std::string& last, std::size_t bytes) {
  // The end's number is that of all bytes, of the start before them and of itself.
  const std::string end = "id: " + std::to_string(bytes + 2) + "\n";
  const auto at = last.rfind("event: exit\n");
  if (at == last.npos || last.find("\"exitCode\":0", at) == last.npos) fail("the stream has no exit of 0");
  const auto event = last.rfind("\n\n", at);
  if (last.find(end, event) == last.npos) fail("the stream's last event does not count all bytes");
}

}  // namespace roombox::bench
