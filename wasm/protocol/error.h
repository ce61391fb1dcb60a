#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/protocol/dialect.h"

namespace roombox {

/// What went wrong, as a stable name and an HTTP status; error.cpp has the table.
enum class ErrorCode {
  InvalidRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  Conflict,
  Gone,
  PreconditionFailed,
  PayloadTooLarge,
  UrlTooLong,
  UnsupportedMediaType,
  RangeNotSatisfiable,
  UpgradeRequired,
  TooManyRequests,
  TooManyRooms,
  HeadersTooLarge,
  ExecutionFailed,
  Internal,
  BadGateway,
  Unavailable,
};

/// One thing wrong with one field of a request.
struct FieldError {
  std::string field;  ///< The field's name; `body` for the body as a whole, `roomID` for the id in the path.
  std::string message;  ///< The rule it breaks, worded as zod 4 words it where zod has that rule.
};
using FieldErrors = std::vector<FieldError>;

/// An error as a caller sees it.
struct Error {
  ErrorCode code;
  std::string message;       ///< One line that says what to do; never a path of the host, never a stack.
  FieldErrors details = {};  ///< For InvalidRequest: which fields, and why.
};

/// The error of a request whose fields break rules.
Error invalid_request(FieldErrors details);

/// What is known of a code.
struct ErrorKind {
  ErrorCode code;
  int status;             ///< That it is answered with.
  std::string_view name;  ///< In JSON, as in `"code":"invalid_request"`.
};

/// Every code there is.
std::span<const ErrorKind> error_kinds();

/// The HTTP status that a code is answered with.
int http_status(ErrorCode code);

/// The code's name in JSON, as in `"code":"invalid_request"`.
std::string_view name(ErrorCode code);

/// The code of that name, if there is one.
std::optional<ErrorCode> error_code_named(std::string_view wanted);

/// The error in one line: of an invalid request its first field fault, as in `command: Command cannot be
/// empty`, else its message.
std::string summary(const Error& error);

/// The error as the JSON body of the dialect: for rooms `{"error":…,"details":{…},"code":…}`, for v1
/// `{"error":{"message":…,"type":…,"details":{…}}}`, where the message is the summary, for the SDK
/// `{"error":…,"code":…}` with the same. Messages of one field
/// are gathered under its name, in order of first mention; without any there are no `details`.
std::string render(const Error& error, Dialect dialect);

}  // namespace roombox
