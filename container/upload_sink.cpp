#include "container/upload_sink.h"

#include <algorithm>
#include <utility>

#include "container/caller.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/file.h"
#include "wasm/protocol/messages.h"

namespace roombox {

UploadSink::UploadSink(FileThread& thread, std::shared_ptr<Exchange> exchange, std::shared_ptr<Upload> upload,
                       std::string path)
    : thread_(thread),
      exchange_(std::move(exchange)),
      upload_(std::move(upload)),
      path_(std::move(path)),
      mark_(exchange_->request().header(agent_api::kEndHeader)) {}

void UploadSink::take(std::string_view bytes) {
  const auto write = [this, self = shared_from_this()](auto piece) {
    thread_.run([upload = upload_, piece = std::move(piece)] { return upload->write(piece); },
                [self](const std::optional<Error>& error) {
                  if (error) return refuse(*self->done(), *error);
                  self->exchange_->receive_more();
                });
  };
  mark_.empty() ? write(bytes) : write(without_mark(bytes));
}

/// What of the body so far is the file's for certain; holds back as many bytes as the mark has.
std::string UploadSink::without_mark(std::string_view bytes) {
  std::string piece = std::move(held_).append(bytes);
  const std::size_t certain = piece.size() - std::min(mark_.size(), piece.size());
  held_ = piece.substr(certain);
  piece.resize(certain);
  return piece;
}

void UploadSink::end() {
  if (held_ != mark_) {
    return refuse(*done(), invalid_request({{"body", std::string(messages::kBodyCut)}}));
  }
  thread_.run([upload = upload_] { return upload->finish(); },
              [self = shared_from_this()](const Result<Upload::Done, Error>& result) {
                const auto exchange = self->done();
                if (!result) return refuse(*exchange, result.error());
                self->answer(*exchange, *result);
              });
}

/// Lets go of all: the exchange keeps the sink. An upload that is not finished takes its file away.
std::shared_ptr<Exchange> UploadSink::done() {
  upload_.reset();
  return std::exchange(exchange_, nullptr);
}

void UploadSink::answer(Exchange& exchange, const Upload::Done& upload) const {
  constexpr unsigned kOk = 200, kCreated = 201;
  const Dialect dialect = caller_of(exchange.request()).dialect;
  exchange.respond({upload.is_new ? kCreated : kOk,
                    kJson,
                    render_made(path_, upload.size, dialect),
                    {{"ETag", upload.tag}}});
}

}  // namespace roombox
