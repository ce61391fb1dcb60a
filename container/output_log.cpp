#include "container/output_log.h"

namespace roombox {

void OutputLog::append(Stream stream, std::string_view bytes) {
  std::string& stored = stored_[index(stream)];
  const std::size_t room = cap_ - stored.size();
  if (bytes.size() > room) truncated_ = true;
  stored.append(bytes.substr(0, room));
}

}  // namespace roombox
