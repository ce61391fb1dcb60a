#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "container/file_thread.h"
#include "container/file_upload.h"
#include "container/http_server.h"

namespace roombox {

/// Writes a request's body into a file, and answers.
class UploadSink : public BodySink, public std::enable_shared_from_this<UploadSink> {
 public:
  UploadSink(FileThread& thread, std::shared_ptr<Exchange> exchange, std::shared_ptr<Upload> upload,
             std::string path);

  void take(std::string_view bytes) override;
  void end() override;
  void cut() override { done(); }

 private:
  std::string without_mark(std::string_view bytes);
  std::shared_ptr<Exchange> done();
  void answer(Exchange& exchange, const Upload::Done& upload) const;

  FileThread& thread_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Upload> upload_;
  const std::string path_;
  const std::string mark_;  ///< What ends the body; empty where that just ends.
  std::string held_;        ///< Its last bytes so far, which may be the mark's.
};

}  // namespace roombox
