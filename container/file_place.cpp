#include "container/file_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <string_view>
#include <utility>

#include "container/limits.h"
#include "container/sys/open_at.h"

namespace roombox {
namespace {

constexpr int kDirectory = O_PATH | O_DIRECTORY;

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != "..";
}

/// A path in two: the directory, and the name in it.
struct Parts {
  std::string directory;
  std::string name;
};

Parts split(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {".", std::string(path)};
  return {std::string(path.substr(0, slash + 1)), std::string(path.substr(slash + 1))};
}

/// Where the link in a place leads; empty where there is no link.
std::string target_of(const Place& place) {
  std::array<char, PATH_MAX> target;
  const auto size = sys::call("readlinkat", [&] {
    return ::readlinkat(place.directory.get(), place.name.c_str(), target.data(), target.size());
  });
  if (!size || *size < 0) return {};
  return {target.data(), static_cast<std::size_t>(*size)};
}

void append_hex(std::string& out, std::uint64_t value) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  out += std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_hex(std::string& out, const timespec& time) {
  append_hex(out += '-', static_cast<std::uint64_t>(time.tv_sec));
  append_hex(out += '.', static_cast<std::uint64_t>(time.tv_nsec));
}

}  // namespace

Result<sys::Fd, sys::Failure> open_path(int directory, const std::string& path, int flags) {
  auto opened = sys::open_at(directory, path.c_str(), flags);
  if (!opened) return opened;
  struct statfs system {};
  const auto told = sys::call("fstatfs", [&] { return ::fstatfs(opened->get(), &system); });
  if (!told) return told.error();
  if (system.f_type == PROC_SUPER_MAGIC) return sys::Failure{"open", EACCES};
  return opened;
}

Result<std::optional<struct stat>, sys::Failure> Place::look() const {
  struct stat status {};
  const auto found = sys::call(
      "fstatat", [&] { return ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW); });
  if (found) return std::optional(status);
  if (found.error().number == ENOENT) return std::optional<struct stat>();
  return found.error();
}

Result<Place, sys::Failure> find_place(const std::string& path, Links links) {
  std::string rest = path;
  Place place;
  for (int followed = 0; followed <= limits::kFollowedLinks; ++followed) {
    Parts parts = split(rest);
    if (!is_name(parts.name)) return sys::Failure{"open", links == Links::Follow ? EISDIR : EBUSY};
    const int from = place.directory ? place.directory.get() : AT_FDCWD;
    auto directory = open_path(from, parts.directory, kDirectory);
    if (!directory) return directory.error();
    place = {std::move(*directory), std::move(parts.name)};
    std::string target = links == Links::Follow ? target_of(place) : "";
    if (target.empty()) {
      // Only a directory can be meant by a slash at the end.
      if (!rest.ends_with('/')) return place;
      if (links == Links::Follow) return sys::Failure{"open", EISDIR};
      const auto found = place.look();
      if (!found) return found.error();
      if (*found && !S_ISDIR((*found)->st_mode)) return sys::Failure{"open", ENOTDIR};
      return place;
    }
    rest = std::move(target);
  }
  return sys::Failure{"open", ELOOP};
}

Result<bool, sys::Failure> make_directories(const std::string& path) {
  auto directory = open_path(AT_FDCWD, "/", kDirectory);
  bool is_new = false;
  std::string_view rest = path;
  while (directory && !rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    auto next = open_path(directory->get(), name, kDirectory);
    is_new = !next && next.error().number == ENOENT;
    if (is_new) {
      const auto made = sys::call("mkdirat", [&] { return ::mkdirat(directory->get(), name.c_str(), 0777); });
      if (!made && made.error().number != EEXIST) return made.error();
      next = open_path(directory->get(), name, kDirectory);
    }
    directory = std::move(next);
  }
  if (!directory) return directory.error();
  return is_new;
}

FileType type_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return FileType::File;
  if (S_ISDIR(status.st_mode)) return FileType::Directory;
  return S_ISLNK(status.st_mode) ? FileType::Symlink : FileType::Other;
}

std::chrono::system_clock::time_point modified_at(const struct stat& status) {
  using namespace std::chrono;
  return system_clock::time_point(duration_cast<system_clock::duration>(seconds(status.st_mtim.tv_sec) +
                                                                        nanoseconds(status.st_mtim.tv_nsec)));
}

std::string entity_tag(const struct stat& status) {
  std::string tag = "\"";
  append_hex(tag, static_cast<std::uint64_t>(status.st_ino));
  append_hex(tag += '-', static_cast<std::uint64_t>(status.st_size));
  append_hex(tag, status.st_mtim);
  append_hex(tag, status.st_ctim);
  return tag += '"';
}

}  // namespace roombox
