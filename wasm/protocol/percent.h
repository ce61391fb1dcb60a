#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roombox {

/// The text with each `%XX` decoded, once; none where a `%` begins no such thing.
std::optional<std::string> percent_decoded(std::string_view text);

/// The bytes as a URL's path and query take them (RFC 3986): what is neither unreserved nor a slash as `%XX`.
std::string percent_encoded(std::string_view bytes);

}  // namespace roombox
