#include <algorithm>
#include <array>
#include <cstdio>

#include "fusion/training/cross_validation.h"

namespace metafuse::fusion {
namespace {

constexpr std::array kTopColumns = {1, 2, 5, 10, 20, 30};

std::string line_of(const std::string& name, const std::vector<std::string>& cells) {
  char text[64];
  std::snprintf(text, sizeof text, "%-24.40s", name.c_str());
  std::string line = text;
  for (const std::string& cell : cells) {
    std::snprintf(text, sizeof text, " %8s", cell.c_str());
    line += text;
  }
  return line + '\n';
}

std::string two_decimals(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", number);
  return text;
}

std::string row_of(const MethodRanks& method) {
  std::vector<std::string> cells;
  for (const int k : kTopColumns) cells.push_back(std::to_string(method.top(k)));
  cells.push_back(two_decimals(method.average_rank()));
  return line_of(method.name, cells);
}

/// Column by column, the best single feature.
std::string best_feature_row(const CrossValidation& result) {
  std::vector<std::string> cells;
  for (const int k : kTopColumns) {
    std::size_t best = 0;
    for (const MethodRanks& feature : result.features) best = std::max(best, feature.top(k));
    cells.push_back(std::to_string(best));
  }
  double best = result.depth + 1;
  for (const MethodRanks& feature : result.features) best = std::min(best, feature.average_rank());
  cells.push_back(two_decimals(best));
  return line_of("best feature a column", cells);
}

JsonObject json_of(const MethodRanks& method) {
  JsonObject out;
  out["name"] = method.name;
  for (const int k : kTopColumns) out["top_" + std::to_string(k)] = method.top(k);
  out["average_rank"] = method.average_rank();
  out["best_rank"] = JsonArray(method.best_rank.begin(), method.best_rank.end());
  return out;
}

JsonArray json_of(const std::vector<MethodRanks>& methods) {
  JsonArray out;
  for (const MethodRanks& method : methods) out.push_back(json_of(method));
  return out;
}

}  // namespace

std::string to_table(const CrossValidation& result) {
  std::string out = std::to_string(result.queries.size()) + " queries held out in " +
                    std::to_string(result.model_summaries.size()) + " folds; " +
                    std::to_string(result.unanswerable) +
                    " more have no relevant document in any list and are left out\n\n";
  std::vector<std::string> titles;
  for (const int k : kTopColumns) titles.push_back("top " + std::to_string(k));
  titles.emplace_back("avg rank");
  out += line_of("", titles);
  out += row_of(result.learner);
  for (const MethodRanks& baseline : result.baselines) out += row_of(baseline);
  if (!result.features.empty()) out += best_feature_row(result);
  return out;
}

Json to_json(const CrossValidation& result) {
  JsonObject out;
  out["depth"] = result.depth;
  out["unanswerable"] = result.unanswerable;
  out["queries"] = JsonArray(result.queries.begin(), result.queries.end());
  JsonArray folds;
  for (const std::size_t fold : result.fold_of) folds.push_back(fold + 1);
  out["fold"] = std::move(folds);
  out["learner"] = json_of(result.learner);
  out["baselines"] = json_of(result.baselines);
  out["features"] = json_of(result.features);
  return out;
}

}  // namespace metafuse::fusion
