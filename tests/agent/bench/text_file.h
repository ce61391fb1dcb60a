#pragma once

#include <cstddef>
#include <string>

namespace roombox::bench {

/// Lines as of a log, in memory, readable to all; gone with its owner.
class TextFile {
 public:
  /// What each whole line has once.
  static constexpr char kMark = '|';

  /// @param size in bytes
  explicit TextFile(std::size_t size);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }
  /// How many of its lines are whole.
  std::size_t lines() const { return lines_; }

 private:
  std::string path_ = "/dev/shm/roombox-bench-XXXXXX";
  std::size_t size_, lines_ = 0;
};

}  // namespace roombox::bench
