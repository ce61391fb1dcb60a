#include "wasm/protocol/error.h"

#include <array>
#include <utility>

#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

struct Row {
  ErrorCode code;
  int status;
  std::string_view name;
};

constexpr std::array<Row, 10> kTable = {{
    {ErrorCode::InvalidRequest, 400, "invalid_request"},
    {ErrorCode::Unauthorized, 401, "unauthorized"},
    {ErrorCode::NotFound, 404, "not_found"},
    {ErrorCode::MethodNotAllowed, 405, "method_not_allowed"},
    {ErrorCode::Gone, 410, "gone"},
    {ErrorCode::PayloadTooLarge, 413, "payload_too_large"},
    {ErrorCode::UnsupportedMediaType, 415, "unsupported_media_type"},
    {ErrorCode::ExecutionFailed, 500, "execution_failed"},
    {ErrorCode::Internal, 500, "internal"},
    {ErrorCode::Unavailable, 503, "unavailable"},
}};

constexpr Row row_of(ErrorCode code) {
  for (const Row& row : kTable) {
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

}  // namespace

Error invalid_request(FieldErrors details) {
  return {ErrorCode::InvalidRequest, std::string(messages::kInvalidRequest), std::move(details)};
}

int http_status(ErrorCode code) {
  return row_of(code).status;
}

std::string_view name(ErrorCode code) {
  return row_of(code).name;
}

std::string render(const Error& error, Dialect dialect) {
  switch (dialect) {
    case Dialect::Rooms:
      return render_rooms(error);
  }
  return {};
}

}  // namespace roombox
