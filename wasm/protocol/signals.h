#pragma once

#include <optional>
#include <string_view>

/// Linux's signals by the numbers that x86 and ARM give them, wherever this runs.
namespace roombox {

inline constexpr int kSigkill = 9;
inline constexpr int kSignalMin = 1;
inline constexpr int kSignalMax = 64;

/// `SIGKILL` for 9; `SIG34` for one without a name of its own; `SIG?` where there is no such signal.
std::string_view signal_name(int number);

/// The number of `SIGTERM` or `TERM`, and of what signal_name gives; none where there is no such signal.
std::optional<int> signal_number(std::string_view name);

}  // namespace roombox
