#include "container/file_removal.h"

#include <fcntl.h>
#include <unistd.h>

#include "container/file_error.h"
#include "container/limits.h"
#include "wasm/protocol/messages.h"

namespace roombox {

Result<std::unique_ptr<Removal>, Error> Removal::begin(std::string path, Preconditions preconditions,
                                                       Depth depth) {
  auto place = find_place(path, Links::Keep);
  if (!place) return file_error(place.error(), path);
  const auto found = place->look();
  if (!found) return file_error(found.error(), path);
  if (!preconditions.hold(*found ? entity_tag(**found) : "")) {
    return Error{ErrorCode::PreconditionFailed, messages::fill(messages::kChanged, {path})};
  }
  if (!*found) return file_error({"unlinkat", ENOENT}, path);
  return std::unique_ptr<Removal>(new Removal(std::move(path), std::move(*place), depth));
}

Result<Removal::State, Error> Removal::step() {
  if (levels_.empty()) {
    if (auto error = remove(place_.name)) return std::move(*error);
  }
  for (int removed = 0; !levels_.empty() && removed < limits::kRemovedPerTurn; ++removed) {
    auto name = levels_.back().directory.next();
    if (!name) return error(name.error(), levels_.back().name);
    if (auto error = name->empty() ? step_out() : remove(*name)) return std::move(*error);
  }
  return levels_.empty() ? State::Done : State::More;
}

/// Removes an entry of the directory at hand, or, where it is one that is not empty, goes into it.
std::optional<Error> Removal::remove(const std::string& name) {
  const auto unlink = [&](int flags) {
    return sys::call("unlinkat", [&] { return ::unlinkat(here(), name.c_str(), flags); });
  };
  auto removed = unlink(0);
  if (!removed && removed.error().number == EISDIR) removed = unlink(AT_REMOVEDIR);
  if (removed) return std::nullopt;
  const int number = removed.error().number;
  if (number == ENOENT && !levels_.empty()) return std::nullopt;  // somebody else has removed it
  if ((number != ENOTEMPTY && number != EEXIST) || depth_ == Depth::One) return error(removed.error(), name);
  if (levels_.size() == limits::kRemovedDepth) return error({"unlinkat", EMLINK}, name);
  auto opened = open_path(here(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened) return error(opened.error(), name);
  auto directory = sys::Directory::open(std::move(*opened));
  if (!directory) return error(directory.error(), name);
  levels_.push_back({std::move(*directory), name});
  return std::nullopt;
}

/// Removes the directory at hand, which was emptied. One that is filled at the same time stays, as with
/// rm(1).
std::optional<Error> Removal::step_out() {
  const std::string name = std::move(levels_.back().name);
  levels_.pop_back();
  const auto removed = sys::call("unlinkat", [&] { return ::unlinkat(here(), name.c_str(), AT_REMOVEDIR); });
  if (removed || removed.error().number == ENOENT) return std::nullopt;
  return error(removed.error(), name);
}

int Removal::here() const {
  return levels_.empty() ? place_.directory.get() : levels_.back().directory.descriptor();
}

/// Names the entry that is in the way.
Error Removal::error(const sys::Failure& failure, const std::string& name) const {
  if (levels_.empty()) return file_error(failure, path_);
  std::string path = path_;
  for (const Level& level : levels_) {
    if (&level != &levels_.front()) path.append("/").append(level.name);
  }
  return file_error(failure, path.append("/").append(name));
}

}  // namespace roombox
