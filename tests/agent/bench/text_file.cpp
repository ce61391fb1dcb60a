#include "tests/agent/bench/text_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/agent/bench/support.h"

namespace roombox::bench {

TextFile::TextFile(std::size_t size) : size_(size) {
  Fd file(must("mkstemp", ::mkstemp(path_.data())));
  must("fchmod", ::fchmod(file.get(), 0644));
  std::ofstream out(path_);
  for (std::size_t number = 0, written = 0; written < size; ++number) {
    std::string line = std::to_string(1'000'000'000 + number) +
                       " INFO worker: took the next of the requests that wait, and answered it |\n";
    lines_ += line.size() <= size - written;
    line.resize(std::min(line.size(), size - written), '\n');
    out << line;
    written += line.size();
  }
  if (!out.flush()) fail("cannot write " + path_);
}

TextFile::~TextFile() {
  ::unlink(path_.c_str());
}

}  // namespace roombox::bench
