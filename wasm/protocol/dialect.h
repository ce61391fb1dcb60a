#pragma once

namespace roombox {

/// Whose request and response shapes a call speaks. Each is a rendering of the same execution.
enum class Dialect {
  Rooms,  ///< /api/rooms
};

}  // namespace roombox
