#include "fusion/features.h"

#include <algorithm>
#include <numeric>

#include "core/contract.h"
#include "evaluation/id_table.h"

namespace metafuse::fusion {
namespace {

constexpr std::string_view kPrefix = "derived:";
constexpr std::string_view kDerived[] = {"lists", "rrf", "best-rank", "median-rank"};
constexpr double kRrfConstant = 60.0;
constexpr double kDeepest = 2147483648.0;

double median_rank(std::span<const std::uint32_t> ranks) {
  std::vector<double> sorted;
  for (const std::uint32_t rank : ranks) sorted.push_back(rank == 0 ? kDeepest : static_cast<double>(rank));
  if (sorted.empty()) return kDeepest;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

}  // namespace

QueryInstances collect_instances(std::span<const RankedIds> lists, std::span<const int> depths) {
  require(lists.size() == depths.size(), "a depth a list");
  thread_local evaluation::IdTable table;
  struct Placement {
    std::uint32_t document;
    std::uint32_t list;
    std::uint32_t rank;
  };
  table.clear();
  std::vector<Placement> placements;
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    const std::size_t depth = depths[list] > 0 ? static_cast<std::size_t>(depths[list]) : lists[list].size();
    const std::size_t count = std::min(depth, lists[list].size());
    for (std::size_t j = 0; j < count; ++j) {
      bool is_new = false;
      placements.push_back({table.insert(lists[list][j], is_new), list, static_cast<std::uint32_t>(j + 1)});
    }
  }
  std::vector<std::uint32_t> order(table.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return table.ids()[a] < table.ids()[b]; });
  QueryInstances instances;
  instances.lists = lists.size();
  instances.documents.reserve(order.size());
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    instances.documents.push_back(table.ids()[order[i]]);
  }
  instances.ranks.assign(order.size() * lists.size(), 0);
  for (const Placement& at : placements) {
    std::uint32_t& rank = instances.ranks[place[at.document] * lists.size() + at.list];
    if (rank == 0) rank = at.rank;
  }
  table.clear();
  return instances;
}

FeatureMatrix feature_matrix(const std::vector<Feature>& features, const QueryInstances& instances) {
  require(features.size() >= instances.lists, "a feature a list");
  FeatureMatrix matrix(features, instances.documents.size());
  for (std::size_t i = 0; i < instances.documents.size(); ++i) {
    const auto ranks = instances.ranks_of(i);
    for (std::size_t j = 0; j < ranks.size(); ++j)
      if (ranks[j] > 0) matrix.set(i, j, -static_cast<double>(ranks[j]));
    for (std::size_t j = ranks.size(); j < features.size(); ++j)
      matrix.set(i, j, derived_value(features[j], ranks));
  }
  return matrix;
}

bool is_derived(const Feature& feature) {
  return feature.name.starts_with(kPrefix) && feature.kind == FeatureKind::value;
}

Result<std::vector<Feature>> derived_features(std::string_view names) {
  std::vector<Feature> features;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    if (std::find(std::begin(kDerived), std::end(kDerived), name) == std::end(kDerived))
      return fail(Code::usage, "no derived feature \"" + std::string(name) +
                                   "\"; there are lists, rrf, best-rank and median-rank");
    Feature feature{std::string(kPrefix) + std::string(name), FeatureKind::value, 0};
    if (std::find(features.begin(), features.end(), feature) != features.end())
      return fail(Code::usage, "the derived feature \"" + std::string(name) + "\" stands twice");
    features.push_back(std::move(feature));
  }
  return features;
}

double derived_value(const Feature& feature, std::span<const std::uint32_t> ranks) {
  const std::string_view name = std::string_view(feature.name).substr(kPrefix.size());
  double lists = 0.0;
  double rrf = 0.0;
  double best = kDeepest;
  for (const std::uint32_t rank : ranks) {
    if (rank == 0) continue;
    lists += 1.0;
    rrf += 1.0 / (kRrfConstant + static_cast<double>(rank));
    best = std::min(best, static_cast<double>(rank));
  }
  if (name == "lists") return lists;
  if (name == "rrf") return rrf;
  if (name == "best-rank") return -best;
  require(name == "median-rank", "a derived feature of a known name");
  return -median_rank(ranks);
}

}  // namespace metafuse::fusion
