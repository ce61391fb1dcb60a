#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roombox::edge {

/// The text with each `%XX` decoded, once; none where a `%` begins no such thing.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace roombox::edge
