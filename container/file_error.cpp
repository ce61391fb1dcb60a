#include "container/file_error.h"

#include <array>
#include <string>

#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

struct Row {
  int number;
  ErrorCode code;
  std::string_view message;
};

constexpr std::array kRows = {
    Row{ENOENT, ErrorCode::NotFound, messages::kNoFile},
    Row{EACCES, ErrorCode::Forbidden, messages::kNotPermitted},
    Row{EPERM, ErrorCode::Forbidden, messages::kNotPermitted},
    Row{EROFS, ErrorCode::Forbidden, messages::kNotPermitted},
    Row{EISDIR, ErrorCode::Conflict, messages::kIsDirectory},
    Row{ENOTDIR, ErrorCode::Conflict, messages::kNotDirectory},
    Row{ENOTEMPTY, ErrorCode::Conflict, messages::kNotEmpty},
    Row{EEXIST, ErrorCode::Conflict, messages::kNotEmpty},  // of a directory, as some file systems say it
    Row{ELOOP, ErrorCode::Conflict, messages::kTooManyLinks},
    Row{ENXIO, ErrorCode::Conflict, messages::kSpecialFile},
    Row{EBUSY, ErrorCode::Conflict, messages::kBusy},
    Row{EMLINK, ErrorCode::Conflict, messages::kTooDeepTree},           // ours: removal is not told it
    Row{E2BIG, ErrorCode::PayloadTooLarge, messages::kTooManyEntries},  // ours, likewise
    Row{ENOSPC, ErrorCode::PayloadTooLarge, messages::kNoSpace},
    Row{EDQUOT, ErrorCode::PayloadTooLarge, messages::kNoSpace},
    Row{EFBIG, ErrorCode::PayloadTooLarge, messages::kNoSpace},
};

}  // namespace

Error file_error(const sys::Failure& failure, std::string_view path) {
  if (failure.number == ENAMETOOLONG) {
    return invalid_request({{"path", std::string(messages::kNameTooLong)}});
  }
  for (const Row& row : kRows) {
    if (row.number == failure.number) return {row.code, messages::fill(row.message, {path})};
  }
  return {ErrorCode::Internal,
          messages::fill(messages::kFileFailed, {path, std::generic_category().message(failure.number)})};
}

}  // namespace roombox
