#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "container/file_place.h"
#include "container/http_conditions.h"
#include "wasm/protocol/error.h"

namespace roombox {

/// A file on its way: written beside its place under another name, and put there when it is whole. So nobody
/// sees a part of it, and of two at once the later stays. On the FileThread, where it must end too
/// (FileThread::own).
class Upload {
 public:
  /// Begins one, unless it is clear already that it could not be put in its place.
  static Result<std::unique_ptr<Upload>, Error> begin(std::string path, Preconditions preconditions);

  /// Takes away what was not put in its place.
  ~Upload();

  std::optional<Error> write(std::string_view bytes);

  struct Done {
    bool is_new;
    std::uint64_t size;
    std::string tag;
  };
  /// Puts the file in its place, with the permissions of the one that it replaces. Once.
  Result<Done, Error> finish();

 private:
  Upload(std::string path, Place place, Preconditions preconditions)
      : path_(std::move(path)), place_(std::move(place)), preconditions_(std::move(preconditions)) {}

  std::optional<Error> open();
  Result<std::optional<struct stat>, Error> check() const;
  std::optional<Error> check_writable() const;
  Error error(const sys::Failure& failure) const;

  const std::string path_;
  const Place place_;
  const Preconditions preconditions_;
  std::string temporary_;  ///< Its name for now; empty where it has none.
  sys::Fd file_;
  std::uint64_t size_ = 0;
};

}  // namespace roombox
