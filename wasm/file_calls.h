#pragma once

#include "wasm/edge.h"
#include "wasm/routes.h"

/// The decisions on calls about files, for the table of routes. The path is the pattern's `{path}`, or else
/// the query's `path`; bodies and replies are not looked at, but pass through as they come.
namespace roombox::edge {

/// A file's bytes, or a directory's listing.
Decision get_path(const Call& call);

/// A file's bytes; with `list=true` a directory's listing.
Decision get_file(const Call& call);

/// A directory's listing.
Decision list_directory(const Call& call);

/// Puts a file; with `mkdir=true` makes a directory.
Decision put_file(const Call& call);

/// Makes a directory.
Decision make_directory(const Call& call);

/// Removes a file or an empty directory; with `recursive=true` any directory.
Decision delete_file(const Call& call);

}  // namespace roombox::edge
