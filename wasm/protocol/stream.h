#pragma once

#include <optional>
#include <string_view>

#include "wasm/protocol/named.h"

/// What a command writes, and how a caller gets it.
namespace roombox {

enum class Stream { Stdout, Stderr };

inline constexpr Names<Stream, 2> kStreamNames = {{
    {Stream::Stdout, "stdout"},
    {Stream::Stderr, "stderr"},
}};

/// The name in JSON, in events and in records, as in `event: stdout`.
constexpr std::string_view name(Stream stream) {
  return name_in(kStreamNames, stream);
}

/// How output bytes are written in JSON.
enum class Encoding {
  Utf8,    ///< As text; what is not UTF-8 becomes U+FFFD.
  Base64,  ///< RFC 4648 with padding; loses nothing.
};

inline constexpr Names<Encoding, 2> kEncodingNames = {{
    {Encoding::Utf8, "utf8"},
    {Encoding::Base64, "base64"},
}};

constexpr std::string_view name(Encoding encoding) {
  return name_in(kEncodingNames, encoding);
}

/// The encoding of that name, if there is one.
constexpr std::optional<Encoding> encoding_named(std::string_view wanted) {
  return value_in(kEncodingNames, wanted);
}

/// What the caller of exec waits for.
enum class Mode {
  Plain,   ///< The end: one JSON body.
  Stream,  ///< Every event as it happens: SSE.
  Detach,  ///< Nothing: 202 with the running record; the command outlives the call.
};

inline constexpr Names<Mode, 3> kModeNames = {{
    {Mode::Plain, "plain"},
    {Mode::Stream, "stream"},
    {Mode::Detach, "detach"},
}};

constexpr std::string_view name(Mode mode) {
  return name_in(kModeNames, mode);
}

/// The mode of that name, if there is one.
constexpr std::optional<Mode> mode_named(std::string_view wanted) {
  return value_in(kModeNames, wanted);
}

}  // namespace roombox
