#include "container/file_reading.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "container/file_place.h"
#include "container/limits.h"
#include "container/sys/directory.h"

namespace roombox {
namespace {

class Bytes : public FileProducer {
 public:
  Bytes(sys::Fd file, Range range) : file_(std::move(file)), rest_(range) {}

  State produce(std::string& out) override {
    out.resize(std::min<std::uint64_t>(rest_.size, limits::kFilePiece));
    const auto size = sys::call("pread", [&] {
      return ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(rest_.first));
    });
    out.resize(size ? static_cast<std::size_t>(*size) : 0);
    rest_.first += out.size();
    rest_.size -= out.size();
    if (rest_.size == 0) return State::End;
    return out.empty() ? State::Broken : State::More;
  }

 private:
  const sys::Fd file_;
  Range rest_;
};

class Entries : public FileProducer {
 public:
  Entries(sys::Directory directory, std::vector<std::string> names, const std::string& path, Dialect dialect)
      : directory_(std::move(directory)), names_(std::move(names)), listing_(path, dialect) {}

  State produce(std::string& out) override {
    while (out.size() < limits::kListingPiece && at_ < names_.size()) {
      add(names_[at_++]);
      out += listing_.take();
    }
    if (at_ < names_.size()) return State::More;
    listing_.end();
    out += listing_.take();
    return State::End;
  }

 private:
  /// Leaves out what has gone meanwhile.
  void add(const std::string& name) {
    struct stat status {};
    const auto found = sys::call("fstatat", [&] {
      return ::fstatat(directory_.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    });
    if (!found) return;
    listing_.add({name, type_of(status), static_cast<std::uint64_t>(status.st_size), status.st_mode & 07777u,
                  modified_at(status)});
  }

  const sys::Directory directory_;
  const std::vector<std::string> names_;
  ListingWriter listing_;
  std::size_t at_ = 0;
};

}  // namespace

Result<OpenFile, sys::Failure> open_for_reading(const std::string& path) {
  auto opened = open_path(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) return opened.error();
  OpenFile file{std::move(*opened), {}};
  const auto told = sys::call("fstat", [&] { return ::fstat(file.fd.get(), &file.status); });
  if (!told) return told.error();
  if (!S_ISREG(file.status.st_mode) && !S_ISDIR(file.status.st_mode)) return sys::Failure{"open", ENXIO};
  return file;
}

std::shared_ptr<FileProducer> read_bytes(sys::Fd file, Range range) {
  return std::make_shared<Bytes>(std::move(file), range);
}

Result<std::shared_ptr<FileProducer>, sys::Failure> list_entries(sys::Fd directory, const std::string& path,
                                                                 Dialect dialect) {
  auto opened = sys::Directory::open(std::move(directory));
  if (!opened) return opened.error();
  std::vector<std::string> names;
  for (;;) {
    auto name = opened->next();
    if (!name) return name.error();
    if (name->empty()) break;
    if (names.size() == limits::kListedEntries) return sys::Failure{"readdir", E2BIG};
    names.push_back(std::move(*name));
  }
  std::sort(names.begin(), names.end());
  return std::shared_ptr<FileProducer>(
      std::make_shared<Entries>(std::move(*opened), std::move(names), path, dialect));
}

}  // namespace roombox
