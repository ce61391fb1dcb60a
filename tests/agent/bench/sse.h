#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace roombox::bench {

/// One server-sent event, as the HTML standard has a reader put it together.
struct SseEvent {
  std::string name;
  std::string data;
  std::uint64_t id = 0;
};

/// Cuts a body, in whatever pieces it comes, into its events. Throws at what is not framed as it should be.
class SseReader {
 public:
  explicit SseReader(std::function<void(const SseEvent&)> on_event) : on_event_(std::move(on_event)) {}

  void take(std::string_view bytes);

 private:
  void take_line(std::string_view line);

  std::function<void(const SseEvent&)> on_event_;
  std::string rest_;
  SseEvent event_;
};

}  // namespace roombox::bench
