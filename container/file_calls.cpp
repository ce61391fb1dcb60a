#include "container/file_calls.h"

#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "container/caller.h"
#include "container/file_error.h"
#include "container/upload_sink.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/percent.h"

namespace roombox {
namespace {

constexpr char kBytes[] = "application/octet-stream";
constexpr unsigned kOk = 200, kCreated = 201, kNoContent = 204, kPartial = 206, kNotModified = 304;

Preconditions preconditions_of(const HttpRequest& request) {
  return {std::string(request.header("If-Match")), std::string(request.header("If-None-Match"))};
}

/// What tells a file's state.
std::vector<std::pair<std::string, std::string>> validators(const struct stat& status) {
  return {{"ETag", entity_tag(status)}, {"Last-Modified", http_date(modified_at(status))}};
}

/// A range is of the file that its asker has a part of: another one is sent whole (RFC 9110, 13.1.5).
std::string_view range_of(const HttpRequest& request, const struct stat& status) {
  const std::string_view condition = request.header("If-Range");
  if (condition.empty() || condition == entity_tag(status)) return request.header("Range");
  return {};
}

}  // namespace

bool FileCalls::is_one(std::string_view path) {
  return path.starts_with(agent_api::kFiles);
}

HttpServer::Verdict::Body FileCalls::body_of(const HttpRequest& request) {
  using Body = HttpServer::Verdict::Body;
  const bool is_put = request.method == "PUT" && split_query(request.target).first == agent_api::kFiles;
  return is_put ? Body::Stream : Body::Whole;
}

void FileCalls::handle(ExchangePtr exchange) {
  struct Call {
    std::string_view method, path;
    void (FileCalls::*handle)(ExchangePtr, std::string);
  };
  static constexpr std::array<Call, 7> kCalls = {{
      {"GET", agent_api::kFiles, &FileCalls::read_any},
      {"GET", agent_api::kFileBytes, &FileCalls::read_bytes},
      {"GET", agent_api::kFileList, &FileCalls::read_entries},
      {"PUT", agent_api::kFiles, &FileCalls::put},
      {"PUT", agent_api::kDirectory, &FileCalls::make_directory},
      {"DELETE", agent_api::kFiles, &FileCalls::remove_one},
      {"DELETE", agent_api::kTree, &FileCalls::remove_tree},
  }};
  const HttpRequest& request = exchange->request();
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  const auto [area, encoded] = split_query(request.target);
  auto path = percent_decoded(encoded);
  const bool is_path = path && path->starts_with('/') && path->find('\0') == std::string::npos;
  for (const Call& call : kCalls) {
    if (call.method != method || call.path != area) continue;
    if (!is_path)
      return refuse(*exchange, invalid_request({{"path", std::string(messages::kPathNotAbsolute)}}));
    return (this->*call.handle)(std::move(exchange), std::move(*path));
  }
  exchange->respond(to_response(error(ErrorCode::NotFound, messages::kNoAgentCall), Dialect::Rooms));
}

// Reading.

void FileCalls::read(ExchangePtr exchange, std::string path, View view) {
  /// A file, or a directory's listing.
  using Found = std::variant<OpenFile, std::shared_ptr<FileProducer>>;
  const auto look = [path, view,
                     dialect = caller_of(exchange->request()).dialect]() -> Result<Found, sys::Failure> {
    auto file = open_for_reading(path);
    if (!file) return file.error();
    const bool is_directory = S_ISDIR(file->status.st_mode);
    if (is_directory && view == View::Bytes) return sys::Failure{"open", EISDIR};
    if (!is_directory && view == View::Entries) return sys::Failure{"open", ENOTDIR};
    if (!is_directory) return Found(std::move(*file));
    auto listing = list_entries(std::move(file->fd), path, dialect);
    if (!listing) return listing.error();
    return Found(std::move(*listing));
  };
  thread_.run(look, [this, exchange, path](Result<Found, sys::Failure> found) {
    if (!found) return refuse(*exchange, file_error(found.error(), path));
    if (auto* const file = std::get_if<OpenFile>(&*found)) return send_file(exchange, path, std::move(*file));
    send(exchange, {kOk, kJson, {}, {{"Cache-Control", "no-store"}}},
         std::get<std::shared_ptr<FileProducer>>(std::move(*found)), std::nullopt);
  });
}

void FileCalls::send_file(ExchangePtr exchange, const std::string& path, OpenFile file) {
  const HttpRequest& request = exchange->request();
  const auto size = static_cast<std::uint64_t>(file.status.st_size);
  // What is sent may be another file by the next call: it can be kept, but is to be asked for.
  HttpResponse head{kOk, kBytes, {}, validators(file.status)};
  head.headers.emplace_back("Accept-Ranges", "bytes");
  head.headers.emplace_back("Cache-Control", "no-cache");
  const std::string tag = entity_tag(file.status);
  const std::string_view match = request.header("If-Match");
  if (!match.empty() && !names_tag(match, tag, Comparison::Strong)) {
    return refuse(*exchange,
                  error(ErrorCode::PreconditionFailed, messages::fill(messages::kChanged, {path})));
  }
  if (names_tag(request.header("If-None-Match"), tag, Comparison::Weak)) {
    head.status = kNotModified;
    return exchange->respond(std::move(head));
  }
  Range part{0, size};
  const auto asked = requested_range(range_of(request, file.status), size);
  if (std::holds_alternative<Unsatisfiable>(asked)) {
    const auto message = messages::fill(messages::kRange, {path, std::to_string(size)});
    auto refusal =
        to_response(error(ErrorCode::RangeNotSatisfiable, message), caller_of(exchange->request()).dialect);
    refusal.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
    return exchange->respond(std::move(refusal));
  }
  if (const auto* const range = std::get_if<Range>(&asked)) {
    part = *range;
    head.status = kPartial;
    const auto last = part.first + part.size - 1;
    head.headers.emplace_back("Content-Range", "bytes " + std::to_string(part.first) + "-" +
                                                   std::to_string(last) + "/" + std::to_string(size));
  }
  send(exchange, std::move(head), roombox::read_bytes(std::move(file.fd), part), part.size);
}

void FileCalls::send(const ExchangePtr& exchange, HttpResponse head, std::shared_ptr<FileProducer> producer,
                     std::optional<std::uint64_t> size) {
  const bool is_head = exchange->request().method == "HEAD";
  const auto source = std::make_shared<FileSource>(thread_, exchange, std::move(producer));
  if (!is_head) source->start();
  exchange->stream(std::move(head), source, size);
}

// Changing.

void FileCalls::put(ExchangePtr exchange, std::string path) {
  auto begin = [this, path, preconditions = preconditions_of(exchange->request())]() mutable
      -> Result<std::shared_ptr<Upload>, Error> {
    auto upload = Upload::begin(path, std::move(preconditions));
    if (!upload) return std::move(upload.error());
    return thread_.own(std::move(*upload));
  };
  thread_.run(std::move(begin), [this, exchange, path](Result<std::shared_ptr<Upload>, Error> upload) {
    if (!upload) return refuse(*exchange, upload.error());
    exchange->receive(std::make_shared<UploadSink>(thread_, exchange, std::move(*upload), path));
  });
}

void FileCalls::make_directory(ExchangePtr exchange, std::string path) {
  if (!exchange->request().body.empty()) {
    return refuse(*exchange, invalid_request({{"body", std::string(messages::kDirectoryBody)}}));
  }
  thread_.run([path] { return make_directories(path); },
              [exchange, path](const Result<bool, sys::Failure>& made) {
                if (!made) return refuse(*exchange, file_error(made.error(), path));
                const Dialect dialect = caller_of(exchange->request()).dialect;
                exchange->respond({*made ? kCreated : kOk, kJson, render_made(path, std::nullopt, dialect)});
              });
}

void FileCalls::remove(ExchangePtr exchange, std::string path, Removal::Depth depth) {
  auto begin = [path = std::move(path), depth,
                preconditions = preconditions_of(exchange->request())]() mutable {
    return Removal::begin(std::move(path), std::move(preconditions), depth);
  };
  thread_.run(std::move(begin), [this, exchange](Result<std::unique_ptr<Removal>, Error> removal) {
    if (!removal) return refuse(*exchange, removal.error());
    go_on_removing(exchange, std::move(*removal));
  });
}

/// Step by step, so that other calls have their turn in between. Who has asked and left has asked all the
/// same.
void FileCalls::go_on_removing(ExchangePtr exchange, std::shared_ptr<Removal> removal) {
  thread_.run([removal] { return removal->step(); },
              [this, exchange, removal](const Result<Removal::State, Error>& state) {
                if (!state) return refuse(*exchange, state.error());
                if (*state == Removal::State::More) return go_on_removing(exchange, removal);
                exchange->respond({kNoContent, {}, {}});
              });
}

}  // namespace roombox
