#include "fusion/data/features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/contract.h"
#include "evaluation/runs/topic_index.h"
#include "fusion/data/fused_order.h"

namespace metafuse::fusion {
namespace {

constexpr std::string_view kPrefix = "derived:";
constexpr std::string_view kShare = "derived:share:";
constexpr std::string_view kDerived[] = {"lists", "rrf", "best-rank", "median-rank", "vsim"};
constexpr double kDeepest = 2147483648.0;

double median_rank(std::span<const std::uint32_t> ranks) {
  std::vector<double> sorted;
  for (const std::uint32_t rank : ranks) sorted.push_back(rank == 0 ? kDeepest : static_cast<double>(rank));
  if (sorted.empty()) return kDeepest;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

bool is_share(const Feature& feature) {
  return feature.name.starts_with(kShare);
}

/// The list that a share belongs to; list `likely` is tried first. Requires the list to be
/// a feature.
std::size_t list_of_derived(const std::vector<Feature>& features, std::size_t lists, const Feature& derived,
                            std::size_t likely) {
  const std::string_view name = std::string_view(derived.name).substr(kShare.size());
  if (likely < lists && features[likely].name == name) return likely;
  for (std::size_t list = 0; list < lists; ++list)
    if (features[list].name == name) return list;
  require(false, "a share of a list that is a feature");
  return 0;
}

/// Minus the fraction of the documents that one list ranks above each; NaN if it does not rank the document.
std::vector<double> shares(const QueryInstances& instances, std::size_t list) {
  const std::size_t count = instances.documents.size();
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = 0; i < count; ++i)
    if (const std::uint32_t rank = instances.ranks_of(i)[list]; rank > 0) ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  std::vector<double> values(count, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t rank = instances.ranks_of(i)[list];
    if (rank == 0) continue;
    const auto above = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
    values[i] = above == 0 ? 0.0 : -static_cast<double>(above) / static_cast<double>(count);
  }
  return values;
}

/// The same of one document.
double share_of(const QueryInstances& instances, std::size_t list, std::size_t instance) {
  const std::uint32_t own = instances.ranks_of(instance)[list];
  if (own == 0) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t count = instances.documents.size();
  std::size_t above = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t rank = instances.ranks_of(i)[list];
    above += rank > 0 && rank < own ? 1 : 0;
  }
  return above == 0 ? 0.0 : -static_cast<double>(above) / static_cast<double>(count);
}

/// The positions of the ids in ascending bytewise order.
std::vector<std::uint32_t> order_of(const std::vector<std::string_view>& ids) {
  std::vector<std::uint32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t prefix = common_prefix(std::span(ids), [](std::string_view id) { return id; });
  std::vector<std::uint64_t> keys;
  keys.reserve(ids.size());
  for (const std::string_view id : ids) keys.push_back(first_bytes(id.substr(prefix)));
  sort_by_keys(keys, std::span(order), [&](std::uint32_t a, std::uint32_t b) { return ids[a] < ids[b]; });
  return order;
}

/// Encodes a column of values, NaN where unranked.
CodedColumn coded(const std::vector<double>& values) {
  std::vector<double> distinct;
  for (const double value : values)
    if (!std::isnan(value)) distinct.push_back(value);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::uint32_t> codes;
  codes.reserve(values.size());
  for (const double value : values) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin();
    codes.push_back(std::isnan(value) ? 0U : static_cast<std::uint32_t>(at + 1));
  }
  return coded_column(std::move(distinct), std::move(codes));
}

std::vector<double> values_of(const FeatureMatrix& matrix, std::size_t feature) {
  std::vector<double> values(matrix.document_count(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < values.size(); ++row)
    if (!matrix.is_unranked(row, feature)) values[row] = matrix.value(row, feature);
  return values;
}

/// Restores the instances of one query from their features; of the documents only the number is kept.
QueryInstances instances_of(const TrainingSet& set, const QueryRange& query) {
  QueryInstances instances;
  instances.lists = set.matrix.feature_count();
  instances.documents.resize(query.end - query.begin);
  for (std::size_t row = query.begin; row < query.end; ++row)
    for (std::size_t f = 0; f < instances.lists; ++f)
      instances.ranks.push_back(set.matrix.is_unranked(row, f) ? 0 : whole_rank(-set.matrix.value(row, f)));
  return instances;
}

std::vector<CodedColumn> columns_of(const FeatureMatrix& matrix) {
  std::vector<CodedColumn> columns;
  for (std::size_t f = 0; f < matrix.feature_count(); ++f)
    columns.push_back(matrix.column(f) != nullptr ? *matrix.column(f) : coded(values_of(matrix, f)));
  return columns;
}

}  // namespace

std::uint32_t whole_rank(double rank) {
  constexpr double kDeepestRank = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(rank, kDeepestRank));
}

QueryInstances collect_instances(std::span<const RankedIds> lists, std::span<const int> depths) {
  require(lists.size() == depths.size(), "a depth per list");
  thread_local evaluation::IdTable kept_table;
  evaluation::IdTable& table = kept_table;
  struct Placement {
    std::uint32_t document;
    std::uint32_t list;
    std::uint32_t rank;
  };
  table.clear();
  std::vector<Placement> placements;
  std::size_t hits = 0;
  for (const RankedIds list : lists) hits += list.size();
  placements.reserve(hits);
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    const std::size_t depth = depths[list] > 0 ? static_cast<std::size_t>(depths[list]) : lists[list].size();
    const std::size_t count = std::min(depth, lists[list].size());
    for (std::size_t j = 0; j < count; ++j) {
      bool is_new = false;
      placements.push_back({table.insert(lists[list][j], is_new), list, static_cast<std::uint32_t>(j + 1)});
    }
  }
  const std::vector<std::uint32_t> order = order_of(table.ids());
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
  require(features.size() >= instances.lists, "a feature per list");
  FeatureMatrix matrix(features, instances.documents.size());
  const std::size_t derived = features.size() - instances.lists;
  const std::vector<double> values = derived_values(features, instances);
  for (std::size_t i = 0; i < instances.documents.size(); ++i) {
    const auto ranks = instances.ranks_of(i);
    for (std::size_t j = 0; j < ranks.size(); ++j)
      if (ranks[j] > 0) matrix.set(i, j, -static_cast<double>(ranks[j]));
    for (std::size_t j = 0; j < derived; ++j)
      if (const double value = values[i * derived + j]; !std::isnan(value))
        matrix.set(i, ranks.size() + j, value);
  }
  return matrix;
}

double reciprocal_rank_score(std::span<const std::uint32_t> ranks, double k) {
  double score = 0.0;
  for (const std::uint32_t rank : ranks)
    if (rank > 0) score += reciprocal_rank_share(rank, k);
  return score;
}

bool is_derived(const Feature& feature) {
  return feature.name.starts_with(kPrefix) && feature.kind == FeatureKind::value;
}

Result<std::vector<Feature>> derived_features(std::string_view names, std::span<const Feature> lists) {
  std::vector<Feature> features;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    const std::string name(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
    std::vector<Feature> added;
    if (name == "share") {
      for (const Feature& list : lists)
        added.push_back({std::string(kShare) + list.name, FeatureKind::value, 0});
    } else if (std::find(std::begin(kDerived), std::end(kDerived), name) != std::end(kDerived)) {
      added.push_back({std::string(kPrefix) + name, FeatureKind::value, 0});
    } else {
      return fail(Code::usage,
                  "no derived feature \"" + name + "\"; there are " + std::string(kDerivedNames));
    }
    if (!added.empty() && std::find(features.begin(), features.end(), added.front()) != features.end())
      return fail(Code::usage, "the derived feature \"" + name + "\" is given twice; remove one");
    features.insert(features.end(), added.begin(), added.end());
  }
  return features;
}

double derived_value(const Feature& feature, std::span<const std::uint32_t> ranks) {
  const std::string_view name = std::string_view(feature.name).substr(kPrefix.size());
  double lists = 0.0;
  double best = kDeepest;
  for (const std::uint32_t rank : ranks) {
    if (rank == 0) continue;
    lists += 1.0;
    best = std::min(best, static_cast<double>(rank));
  }
  if (name == "lists") return lists;
  if (name == "rrf") return reciprocal_rank_score(ranks);
  if (name == "best-rank") return -best;
  require(name == "median-rank", "a derived feature of a known name");
  return -median_rank(ranks);
}

namespace {

/// The value of a derived feature that is no share; NaN if training fills it in.
double own_value(const Feature& feature, std::span<const std::uint32_t> ranks) {
  return feature.name == kSimilarityFeature ? std::numeric_limits<double>::quiet_NaN()
                                            : derived_value(feature, ranks);
}

}  // namespace

std::vector<double> derived_values(const std::vector<Feature>& features, const QueryInstances& instances,
                                   std::size_t instance) {
  require(features.size() >= instances.lists, "a feature per list");
  std::vector<double> values;
  std::size_t next_list = 0;  // the list whose share probably comes next
  for (const Feature& feature : std::span(features).subspan(instances.lists)) {
    if (is_share(feature)) {
      const std::size_t list = list_of_derived(features, instances.lists, feature, next_list);
      next_list = list + 1 < instances.lists ? list + 1 : 0;
      values.push_back(share_of(instances, list, instance));
    } else {
      values.push_back(own_value(feature, instances.ranks_of(instance)));
    }
  }
  return values;
}

std::vector<double> derived_values(const std::vector<Feature>& features, const QueryInstances& instances) {
  require(features.size() >= instances.lists, "a feature per list");
  const std::size_t count = features.size() - instances.lists;
  std::vector<double> values(instances.documents.size() * count);
  std::size_t next_list = 0;  // the list whose share probably comes next
  for (std::size_t j = 0; j < count; ++j) {
    const Feature& feature = features[instances.lists + j];
    if (is_share(feature)) {
      const std::size_t list = list_of_derived(features, instances.lists, feature, next_list);
      next_list = list + 1 < instances.lists ? list + 1 : 0;
      const std::vector<double> column = shares(instances, list);
      for (std::size_t i = 0; i < column.size(); ++i) values[i * count + j] = column[i];
    } else {
      for (std::size_t i = 0; i < instances.documents.size(); ++i)
        values[i * count + j] = own_value(feature, instances.ranks_of(i));
    }
  }
  return values;
}

FeatureMatrix with_values(const FeatureMatrix& matrix, std::size_t feature,
                          const std::vector<double>& values) {
  require(feature < matrix.feature_count() && values.size() == matrix.document_count(),
          "values of a feature of the matrix, one per document");
  std::vector<CodedColumn> columns = columns_of(matrix);
  columns[feature] = coded(values);
  return FeatureMatrix(matrix.features(), matrix.document_count(), std::move(columns));
}

void add_derived_columns(TrainingSet& set, const std::vector<Feature>& derived) {
  if (derived.empty()) return;
  std::vector<Feature> features = set.matrix.features();
  features.insert(features.end(), derived.begin(), derived.end());
  std::vector<std::vector<double>> added(derived.size(), std::vector<double>(set.matrix.document_count()));
  for (const QueryRange& query : set.queries) {
    const std::vector<double> values = derived_values(features, instances_of(set, query));
    for (std::size_t row = query.begin; row < query.end; ++row)
      for (std::size_t j = 0; j < derived.size(); ++j)
        added[j][row] = values[(row - query.begin) * derived.size() + j];
  }
  std::vector<CodedColumn> columns = columns_of(set.matrix);
  for (const std::vector<double>& values : added) columns.push_back(coded(values));
  set.matrix = FeatureMatrix(std::move(features), set.grades.size(), std::move(columns));
}

}  // namespace metafuse::fusion
