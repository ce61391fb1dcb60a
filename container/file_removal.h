#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/file_place.h"
#include "container/http_conditions.h"
#include "container/sys/directory.h"
#include "wasm/protocol/error.h"

namespace roombox {

/// The removal of a file or a directory, in steps. On the FileThread.
class Removal {
 public:
  enum class Depth {
    One,   ///< A file or an empty directory.
    Tree,  ///< A directory with all that is in it, too.
  };

  static Result<std::unique_ptr<Removal>, Error> begin(std::string path, Preconditions preconditions,
                                                       Depth depth);

  enum class State { More, Done };
  /// Removes some of it. After an error the rest is there.
  Result<State, Error> step();

 private:
  /// A directory that is being emptied.
  struct Level {
    sys::Directory directory;
    std::string name;  ///< In the one above.
  };

  Removal(std::string path, Place place, Depth depth)
      : path_(std::move(path)), place_(std::move(place)), depth_(depth) {}

  std::optional<Error> remove(const std::string& name);
  std::optional<Error> step_out();
  int here() const;
  Error error(const sys::Failure& failure, const std::string& name) const;

  const std::string path_;
  const Place place_;
  const Depth depth_;
  std::vector<Level> levels_;
};

}  // namespace roombox
