#include "container/file_upload.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "container/file_error.h"
#include "wasm/protocol/messages.h"

namespace roombox {
namespace {

std::string random_name() {
  std::uint64_t number = 0;
  // A name that is taken is refused, so that even one that is not random does no harm.
  static_cast<void>(::getrandom(&number, sizeof number, 0));
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), ".roombox-%016llx", static_cast<unsigned long long>(number));
  return name.data();
}

}  // namespace

Result<std::unique_ptr<Upload>, Error> Upload::begin(std::string path, Preconditions preconditions) {
  auto place = find_place(path, Links::Follow);
  if (!place) {
    if (place.error().number != ENOENT) return file_error(place.error(), path);
    const auto directory = path.substr(0, path.rfind('/', path.find_last_not_of('/')));
    return Error{ErrorCode::NotFound, messages::fill(messages::kNoDirectory, {directory})};
  }
  std::unique_ptr<Upload> upload(new Upload(std::move(path), std::move(*place), std::move(preconditions)));
  const auto found = upload->check();
  if (!found) return found.error();
  if (*found) {
    if (auto error = upload->check_writable()) return std::move(*error);
  }
  if (auto error = upload->open()) return std::move(*error);
  return upload;
}

Upload::~Upload() {
  if (!temporary_.empty()) ::unlinkat(place_.directory.get(), temporary_.c_str(), 0);
}

/// Makes the file under its name for now.
std::optional<Error> Upload::open() {
  std::string name = random_name();
  const auto opened = sys::call("openat", [&] {
    return ::openat(place_.directory.get(), name.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  });
  if (!opened) return error(opened.error());
  file_.reset(*opened);
  temporary_ = std::move(name);
  return std::nullopt;
}

/// What is in the place now, if it may be replaced and the conditions hold.
Result<std::optional<struct stat>, Error> Upload::check() const {
  const auto found = place_.look();
  if (!found) return error(found.error());
  if (*found && S_ISDIR((*found)->st_mode)) return error({"open", EISDIR});
  if (*found && !S_ISREG((*found)->st_mode)) return error({"open", ENXIO});
  if (preconditions_.hold(*found ? entity_tag(**found) : "")) return *found;
  return Error{ErrorCode::PreconditionFailed, messages::fill(messages::kChanged, {path_})};
}

/// Whether the user may write to the file itself: to replace it takes a right to its directory alone, but who
/// has made a file read-only means it.
std::optional<Error> Upload::check_writable() const {
  const auto opened = sys::call("openat", [&] {
    return ::openat(place_.directory.get(), place_.name.c_str(),
                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
  });
  if (!opened && opened.error().number == ETXTBSY)
    return std::nullopt;  // a program that runs can be replaced
  if (!opened) return error(opened.error());
  const sys::Fd closed(*opened);
  return std::nullopt;
}

std::optional<Error> Upload::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = sys::call("write", [&] { return ::write(file_.get(), bytes.data(), bytes.size()); });
    if (!written) return error(written.error());
    bytes.remove_prefix(static_cast<std::size_t>(*written));
    size_ += static_cast<std::uint64_t>(*written);
  }
  return std::nullopt;
}

Result<Upload::Done, Error> Upload::finish() {
  const auto found = check();
  if (!found) return found.error();
  if (*found) {
    const mode_t mode = (*found)->st_mode & 0777;
    const auto kept = sys::call("fchmod", [&] { return ::fchmod(file_.get(), mode); });
    if (!kept) return error(kept.error());
  }
  const auto placed = sys::call("renameat", [&] {
    const int directory = place_.directory.get();
    return ::renameat(directory, temporary_.c_str(), directory, place_.name.c_str());
  });
  if (!placed) return error(placed.error());
  temporary_.clear();
  struct stat status {};
  const auto told = sys::call("fstat", [&] { return ::fstat(file_.get(), &status); });
  if (!told) return error(told.error());
  return Done{!*found, size_, entity_tag(status)};
}

Error Upload::error(const sys::Failure& failure) const {
  return file_error(failure, path_);
}

}  // namespace roombox
