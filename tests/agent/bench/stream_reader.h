#pragma once

#include <cstddef>
#include <string>

namespace roombox::bench {

/// Reads sockets to their end and does nothing with what it gets but to count it and to keep the last of it.
class StreamReader {
 public:
  /// Bytes read.
  std::size_t read(int socket);

  /// The last bytes, for a look after the time was taken.
  std::string last() const;

 private:
  /// More than an exit event takes with its MiB of output.
  std::string bytes_ = std::string(8u << 20, 0);
  std::size_t total_ = 0;
};

/// Throws unless a stream of the agent's ended with an exit of 0 after so many bytes of output.
/// @param last what came last
void check_events(const std::string& last, std::size_t bytes);

}  // namespace roombox::bench
