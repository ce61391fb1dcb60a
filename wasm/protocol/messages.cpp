#include "wasm/protocol/messages.h"

namespace roombox::messages {
namespace {

/// The next `<name>` of a message: an opening bracket directly before a letter, since `<=` is no name.
std::size_t find_name(std::string_view message) {
  std::size_t at = message.find('<');
  while (at != std::string_view::npos && (at + 1 == message.size() || message[at + 1] < 'a')) {
    at = message.find('<', at + 1);
  }
  return at;
}

}  // namespace

std::string fill(std::string_view message, std::initializer_list<std::string_view> values) {
  std::size_t size = message.size();
  for (std::string_view value : values) size += value.size();
  std::string text;
  text.reserve(size);
  for (std::string_view value : values) {
    const std::size_t open = find_name(message);
    if (open == std::string_view::npos) break;
    text.append(message.substr(0, open)).append(value);
    message.remove_prefix(message.find('>', open) + 1);
  }
  return text.append(message);
}

}  // namespace roombox::messages
