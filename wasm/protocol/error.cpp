#include "wasm/protocol/error.h"

#include <array>
#include <utility>

#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

constexpr std::array<ErrorKind, 20> kTable = {{
    {ErrorCode::InvalidRequest, 400, "invalid_request"},
    {ErrorCode::Unauthorized, 401, "unauthorized"},
    {ErrorCode::Forbidden, 403, "forbidden"},
    {ErrorCode::NotFound, 404, "not_found"},
    {ErrorCode::MethodNotAllowed, 405, "method_not_allowed"},
    {ErrorCode::Conflict, 409, "conflict"},
    {ErrorCode::Gone, 410, "gone"},
    {ErrorCode::PreconditionFailed, 412, "precondition_failed"},
    {ErrorCode::PayloadTooLarge, 413, "payload_too_large"},
    {ErrorCode::UrlTooLong, 414, "url_too_long"},
    {ErrorCode::UnsupportedMediaType, 415, "unsupported_media_type"},
    {ErrorCode::RangeNotSatisfiable, 416, "range_not_satisfiable"},
    {ErrorCode::UpgradeRequired, 426, "upgrade_required"},
    {ErrorCode::TooManyRequests, 429, "too_many_requests"},
    {ErrorCode::TooManyRooms, 429, "too_many_rooms"},
    {ErrorCode::HeadersTooLarge, 431, "headers_too_large"},
    {ErrorCode::ExecutionFailed, 500, "execution_failed"},
    {ErrorCode::Internal, 500, "internal"},
    {ErrorCode::BadGateway, 502, "bad_gateway"},
    {ErrorCode::Unavailable, 503, "unavailable"},
}};

constexpr ErrorKind row_of(ErrorCode code) {
  for (const ErrorKind& row : kTable) {
    if (row.code == code) return row;
  }
  return {ErrorCode::Internal, 500, "internal"};
}

bool mentioned_before(const FieldErrors& details, std::size_t index) {
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    if (details[earlier].field == details[index].field) return true;
  }
  return false;
}

void write_details(JsonWriter& json, const FieldErrors& details) {
  json.begin_object();
  for (std::size_t first = 0; first < details.size(); ++first) {
    if (mentioned_before(details, first)) continue;
    json.key(details[first].field).begin_array();
    for (std::size_t index = first; index < details.size(); ++index) {
      if (details[index].field == details[first].field) json.string(details[index].message);
    }
    json.end_array();
  }
  json.end_object();
}

std::string render_rooms(const Error& error) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").string(error.message);
  if (!error.details.empty()) write_details(json.key("details"), error.details);
  json.key("code").string(name(error.code)).end_object();
  return body;
}

std::string render_v1(const Error& error) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").begin_object();
  json.key("message").string(summary(error)).key("type").string(name(error.code));
  if (!error.details.empty()) write_details(json.key("details"), error.details);
  json.end_object().end_object();
  return body;
}

std::string render_sdk(const Error& error) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").string(summary(error)).key("code").string(name(error.code)).end_object();
  return body;
}

}  // namespace

Error invalid_request(FieldErrors details) {
  return {ErrorCode::InvalidRequest, std::string(messages::kInvalidRequest), std::move(details)};
}

std::span<const ErrorKind> error_kinds() {
  return kTable;
}

int http_status(ErrorCode code) {
  return row_of(code).status;
}

std::string_view name(ErrorCode code) {
  return row_of(code).name;
}

std::optional<ErrorCode> error_code_named(std::string_view wanted) {
  for (const ErrorKind& row : kTable) {
    if (row.name == wanted) return row.code;
  }
  return std::nullopt;
}

std::string summary(const Error& error) {
  if (error.details.empty()) return error.message;
  const FieldError& first = error.details.front();
  return first.field + ": " + first.message;
}

std::string render(const Error& error, Dialect dialect) {
  switch (dialect) {
    case Dialect::Rooms:
      return render_rooms(error);
    case Dialect::V1:
      return render_v1(error);
    case Dialect::Sdk:
      return render_sdk(error);
  }
  return {};
}

}  // namespace roombox
