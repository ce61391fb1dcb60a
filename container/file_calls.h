#pragma once

#include <memory>
#include <string>

#include "container/file_reading.h"
#include "container/file_removal.h"
#include "container/file_thread.h"
#include "container/http_server.h"

namespace roombox {

/// The agent's calls about files: wasm/protocol/agent_api.h. Lives in the io_context's thread; what it does
/// to files, the FileThread does.
class FileCalls {
 public:
  explicit FileCalls(FileThread& thread) : thread_(thread) {}

  /// Whether a path is one of these calls'.
  static bool is_one(std::string_view path);

  /// How the body of a request, which may be any, is taken.
  static HttpServer::Verdict::Body body_of(const HttpRequest& request);

  /// Precondition: is_one.
  void handle(std::shared_ptr<Exchange> exchange);

 private:
  using ExchangePtr = std::shared_ptr<Exchange>;

  /// What a reader is content with.
  enum class View { Any, Bytes, Entries };

  void read_any(ExchangePtr exchange, std::string path) {
    read(std::move(exchange), std::move(path), View::Any);
  }
  void read_bytes(ExchangePtr exchange, std::string path) {
    read(std::move(exchange), std::move(path), View::Bytes);
  }
  void read_entries(ExchangePtr exchange, std::string path) {
    read(std::move(exchange), std::move(path), View::Entries);
  }
  void remove_one(ExchangePtr exchange, std::string path) {
    remove(std::move(exchange), std::move(path), Removal::Depth::One);
  }
  void remove_tree(ExchangePtr exchange, std::string path) {
    remove(std::move(exchange), std::move(path), Removal::Depth::Tree);
  }
  void put(ExchangePtr exchange, std::string path);
  void make_directory(ExchangePtr exchange, std::string path);

  void read(ExchangePtr exchange, std::string path, View view);
  void remove(ExchangePtr exchange, std::string path, Removal::Depth depth);
  void go_on_removing(ExchangePtr exchange, std::shared_ptr<Removal> removal);
  void send_file(ExchangePtr exchange, const std::string& path, OpenFile file);
  void send(const ExchangePtr& exchange, HttpResponse head, std::shared_ptr<FileProducer> producer,
            std::optional<std::uint64_t> size);

  FileThread& thread_;
};

}  // namespace roombox
