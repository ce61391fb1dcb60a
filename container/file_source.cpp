#include "container/file_source.h"

namespace roombox {

FileSource::FileSource(FileThread& thread, std::weak_ptr<Exchange> exchange,
                       std::shared_ptr<FileProducer> producer)
    : thread_(thread), exchange_(std::move(exchange)), producer_(std::move(producer)) {}

void FileSource::start() {
  is_made_ = false;
  thread_.run(
      [producer = producer_, text = std::move(piece_.text)]() mutable {
        Piece piece{std::move(text)};
        piece.text.clear();
        piece.state = producer->produce(piece.text);
        return piece;
      },
      [self = shared_from_this()](Piece piece) {
        self->piece_ = std::move(piece);
        self->is_made_ = true;
        if (const auto exchange = self->exchange_.lock()) exchange->wake();
      });
}

BodySource::Next FileSource::fill(std::string& out) {
  if (!is_made_) return Next::Later;
  out += piece_.text;
  switch (piece_.state) {
    case FileProducer::State::More:
      start();
      return Next::Later;
    case FileProducer::State::End:
      return Next::End;
    case FileProducer::State::Broken:
      return Next::Break;
  }
  return Next::Break;
}

}  // namespace roombox
