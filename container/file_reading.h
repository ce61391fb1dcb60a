#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "container/file_source.h"
#include "container/http_conditions.h"
#include "container/sys/call.h"
#include "container/sys/fd.h"
#include "wasm/protocol/file.h"

/// Files and directories as they are read. On the FileThread.
namespace roombox {

struct OpenFile {
  sys::Fd fd;
  struct stat status;
};

/// Opens a regular file or a directory; what is neither is ENXIO, and is not waited for.
Result<OpenFile, sys::Failure> open_for_reading(const std::string& path);

/// A part of a file's bytes. Broken where the file has become too short for it.
std::shared_ptr<FileProducer> read_bytes(sys::Fd file, Range range);

/// A directory's listing, sorted by the names' bytes; E2BIG with more than limits::kListedEntries.
Result<std::shared_ptr<FileProducer>, sys::Failure> list_entries(sys::Fd directory, const std::string& path,
                                                                 Dialect dialect);

}  // namespace roombox
