#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/agent/bench/bench.h"

namespace roombox::bench {
namespace {

using nlohmann::ordered_json;

Format format = Format::Table;

const char* word(Goal::Bound bound) {
  return bound == Goal::Bound::AtMost ? "atMost" : "atLeast";
}

ordered_json to_json(const Row& row) {
  ordered_json line{{"section", row.section},
                    {"name", row.name},
                    {"unit", row.unit},
                    {"better", row.better == Better::Less ? "less" : "more"}};
  if (!row.series.empty()) {
    line["series"] = row.series;
    line["x"] = row.x;
  }
  line["figures"] = ordered_json::object();
  for (const auto& [who, figure] : row.figures)
    line["figures"][who] = {{"median", figure.median}, {"low", figure.low}, {"high", figure.high}};
  line["goals"] = ordered_json::array();
  for (const auto& goal : row.goals) {
    ordered_json written;
    if (!goal.to.empty()) written["to"] = goal.to;
    written[word(goal.bound)] = goal.value;
    line["goals"].push_back(written);
  }
  return line;
}

/// What the goal is about: our figure, or how many times another's it is; nothing where one is absent.
std::optional<double> measured(const Row& row, const Goal& goal) {
  const auto ours = row.figures.find(kOurs);
  if (ours == row.figures.end()) return std::nullopt;
  if (goal.to.empty()) return ours->second.median;
  const auto other = row.figures.find(goal.to);
  if (other == row.figures.end()) return std::nullopt;
  return ours->second.median / other->second.median;
}

bool is_met(const Goal& goal, double value) {
  return goal.bound == Goal::Bound::AtMost ? value <= goal.value : value >= goal.value;
}

/// As many digits as make four.
int decimals(double value) {
  return value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
}

std::vector<std::string> columns() {
  std::vector<std::string> names{kOurs, kFloor, kServersFloor};
  for (const auto& contender : contenders()) {
    if (contender.name != kOurs) names.push_back(contender.name);
  }
  return names;
}

void print_goals(const Row& row) {
  std::size_t met = 0, judged = 0;
  for (const auto& goal : row.goals) {
    const auto value = measured(row, goal);
    if (!value) continue;
    ++judged;
    met += is_met(goal, *value);
  }
  if (judged == 0) return;
  if (met == judged) {
    std::printf("   met");
    return;
  }
  for (const auto& goal : row.goals) {
    const auto value = measured(row, goal);
    if (!value || is_met(goal, *value)) continue;
    std::printf("   MISSED: %.2f%s%s, %s %g", *value, goal.to.empty() ? "" : " of ", goal.to.c_str(),
                word(goal.bound), goal.value);
  }
}

void print_table_line(const Row& row) {
  std::printf("%-44s %-7s", row.name.c_str(), row.unit.c_str());
  for (const auto& who : columns()) {
    const auto figure = row.figures.find(who);
    if (figure == row.figures.end()) {
      std::printf(" %14s", "-");
    } else {
      std::printf(" %14.*f", decimals(figure->second.median), figure->second.median);
    }
  }
  print_goals(row);
  std::puts("");
}

}  // namespace

Figure figure_of(const Samples& samples, double factor) {
  return {factor * samples.median(), factor * samples.quantile(0.25), factor * samples.quantile(0.75)};
}

Figure rate_of(const Samples& seconds, double count) {
  return {count / seconds.median(), count / seconds.quantile(0.75), count / seconds.quantile(0.25)};
}

Row ahead(Row row) {
  for (const auto& contender : contenders()) {
    if (contender.name == kOurs || !row.figures.contains(contender.name)) continue;
    row.goals.push_back(row.better == Better::Less ? at_most(1, contender.name)
                                                   : at_least(1, contender.name));
  }
  return row;
}

void print_header(Format wanted) {
  format = wanted;
  if (format == Format::Json) return;
  std::printf("%-44s %-7s", "", "");
  for (const auto& who : columns()) std::printf(" %14s", who.c_str());
  std::puts("   goals");
}

void print(const Row& row) {
  if (format == Format::Json) {
    std::puts(to_json(row).dump().c_str());
  } else {
    print_table_line(row);
  }
  std::fflush(stdout);
}

void leave_out(const std::string& who, const std::string& why) {
  std::fprintf(stderr, "agent_bench: %s is left out: %s\n", who.c_str(), why.c_str());
}

}  // namespace roombox::bench
