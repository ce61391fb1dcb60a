#include <cstdio>

#include "tests/agent/bench/bench.h"

namespace roombox::bench {
namespace {

void print_cell(std::optional<double> value, int decimals) {
  if (value) {
    std::printf(" %10.*f", decimals, *value);
  } else {
    std::printf(" %10s", "-");
  }
}

}  // namespace

void print_header(const Options& options) {
  std::printf("%-36s %10s %10s %10s %10s   %s\n", "", "ours", "floor", "node", "ratio", "target");
  if (options.node.empty()) std::puts("(no column for node: name one with --node)");
}

void print(const Row& row) {
  std::printf("%-36s", row.name.c_str());
  for (const auto& value : {row.ours, row.floor, row.node}) print_cell(value, row.decimals);
  print_cell(row.ratio, 2);
  if (row.target && row.ratio) {
    const bool at_most = row.target->bound == Target::Bound::AtMost;
    const bool met = at_most ? *row.ratio <= row.target->value : *row.ratio >= row.target->value;
    std::printf("   %s %.2f %s", at_most ? "<=" : ">=", row.target->value, met ? "met" : "MISSED");
  }
  std::puts("");
  std::fflush(stdout);
}

}  // namespace roombox::bench
