#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace roombox {

/// The values of an enumeration, or what else there is one of for each name, each with the name by which
/// callers, edge and agent know it.
template <typename Value, std::size_t N>
using Names = std::array<std::pair<Value, std::string_view>, N>;

/// A value's name in the table; empty where it has none.
template <typename Value, std::size_t N>
constexpr std::string_view name_in(const Names<Value, N>& table, Value value) {
  for (const auto& [known, text] : table) {
    if (known == value) return text;
  }
  return {};
}

/// The value of that name, if there is one.
template <typename Value, std::size_t N>
constexpr std::optional<Value> value_in(const Names<Value, N>& table, std::string_view wanted) {
  for (const auto& [known, text] : table) {
    if (text == wanted) return known;
  }
  return std::nullopt;
}

}  // namespace roombox
