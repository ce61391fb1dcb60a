#pragma once

#include <memory>
#include <string>

#include "container/file_thread.h"
#include "container/http_server.h"

namespace roombox {

/// What makes a body piece by piece on the FileThread.
class FileProducer {
 public:
  virtual ~FileProducer() = default;

  enum class State {
    More,
    End,
    Broken,  ///< The rest cannot be had.
  };
  virtual State produce(std::string& out) = 0;
};

/// The body that a producer makes, one piece ahead of its reader.
class FileSource : public BodySource, public std::enable_shared_from_this<FileSource> {
 public:
  FileSource(FileThread& thread, std::weak_ptr<Exchange> exchange, std::shared_ptr<FileProducer> producer);

  /// Has the first piece made. Once, after construction.
  void start();

  Next fill(std::string& out) override;

 private:
  struct Piece {
    std::string text;
    FileProducer::State state = FileProducer::State::More;
  };

  FileThread& thread_;
  const std::weak_ptr<Exchange> exchange_;
  const std::shared_ptr<FileProducer> producer_;
  Piece piece_;
  bool is_made_ = false;
};

}  // namespace roombox
