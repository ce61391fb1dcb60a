#include "container/relayed_body.h"

#include <algorithm>
#include <limits>

namespace roombox {
namespace {

std::optional<unsigned> hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return std::nullopt;
}

}  // namespace

RelayedBody::RelayedBody(std::optional<std::uint64_t> size)
    : at_(!size        ? At::Size
          : *size == 0 ? At::End
                       : At::Data),
      is_chunked_(!size),
      left_(size.value_or(0)) {}

std::size_t RelayedBody::take(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && at_ != At::End) {
    if (at_ != At::Data) {
      step(bytes[taken++]);
      continue;
    }
    const auto size = std::min<std::uint64_t>(left_, bytes.size() - taken);
    taken += static_cast<std::size_t>(size);
    left_ -= size;
    if (left_ == 0) at_ = is_chunked_ ? At::DataEnd : At::End;
  }
  return taken;
}

/// One byte of the chunked coding that is no data. What breaks its rules is left to the body's reader to
/// refuse.
void RelayedBody::step(char byte) {
  const bool ends_line = byte == '\n';
  switch (at_) {
    case At::Size: {
      const auto digit = hex_digit(byte);
      if (ends_line) return on_size_line();
      if (!digit) {
        at_ = At::Extension;
      } else if (left_ > std::numeric_limits<std::uint64_t>::max() >> 4) {
        at_ = At::End;
      } else {
        left_ = left_ << 4 | *digit;
      }
      return;
    }
    case At::Extension:
      if (ends_line) on_size_line();
      return;
    case At::DataEnd:
      if (ends_line) at_ = At::Size;
      return;
    case At::TrailerLine:
      if (ends_line) {
        at_ = At::End;
      } else if (byte != '\r') {
        at_ = At::Trailer;
      }
      return;
    case At::Trailer:
      if (ends_line) at_ = At::TrailerLine;
      return;
    case At::Data:
    case At::End:
      return;
  }
}

void RelayedBody::on_size_line() {
  at_ = left_ > 0 ? At::Data : At::TrailerLine;
}

}  // namespace roombox
