#include "fusion/training/list_ordering.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "fusion/data/features.h"
#include "fusion/data/fused_order.h"
#include "fusion/training/held_out.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kSettledPlaces = 10;  // places of a ranking that must be settled
constexpr double kDoubt = 2.0;              // queries without a gain that every list starts with

bool is_ranked_list(const Feature& feature) {
  return feature.kind == FeatureKind::rank && !is_derived(feature);
}

/// Per row: how much finding it is worth. Rows of a query sum to at most 1.
std::vector<double> worth_of_rows(const TrainingSet& set) {
  std::vector<double> worth(set.grades.size(), 0.0);
  std::vector<double> preferred(set.grades.size(), 0.0);
  for (const WeightedPair& pair : set.pairs) {
    preferred[pair.above] += pair.weight;
    preferred[pair.below] -= pair.weight;
  }
  for (std::size_t row = 0; row < worth.size(); ++row) {
    const bool is_relevant = set.in_feedback[row] != 0 && set.grades[row] >= set.feedback.relevance_level;
    if (is_relevant && set.grades[row] > 0.0)
      worth[row] = set.grades[row];
    else if (preferred[row] > 0.0)
      worth[row] = 1.0;
  }
  return worth;
}

/// What a rank leaves of a document's worth.
double rank_discount(double rank) {
  return 1.0 / std::log2(1.0 + rank);
}

/// A relevant document in a list.
struct ListedRow {
  std::size_t row = 0;
  double discount = 0.0;
};

struct GreedyList {
  std::uint32_t feature = 0;
  std::vector<ListedRow> found;
  double asked = 0.0;  ///< number of queries that asked for it

  /// The gain over what is already covered.
  double gain(const std::vector<double>& worth, const std::vector<double>& covered) const {
    double sum = 0.0;
    for (const ListedRow& each : found)
      sum += worth[each.row] * std::max(0.0, each.discount - covered[each.row]);
    return sum / (asked + kDoubt);
  }
};

/// Adds the relevant documents of one query to the lists, and makes what all lists find there worth 1.
///
/// out:    false if no list found any
bool take_query(const TrainingSet& set, std::size_t query, std::vector<double>& worth,
                std::vector<GreedyList>& lists) {
  const QueryRange& range = set.queries[query];
  double whole = 0.0;
  for (std::size_t row = range.begin; row < range.end; ++row) {
    if (worth[row] <= 0.0) continue;
    double best = 0.0;
    for (GreedyList& list : lists) {
      if (set.matrix.is_unranked(row, list.feature)) continue;
      list.found.push_back({row, rank_discount(-set.matrix.value(row, list.feature))});
      best = std::max(best, list.found.back().discount);
    }
    whole += worth[row] * best;
  }
  if (whole <= 0.0) return false;
  for (std::size_t row = range.begin; row < range.end; ++row) worth[row] /= whole;
  return true;
}

}  // namespace

ListChoice order_lists(const TrainingSet& set, std::span<const std::string> others) {
  std::vector<GreedyList> lists;
  for (std::uint32_t f = 0; f < set.matrix.feature_count(); ++f)
    if (const Feature& feature = set.matrix.features()[f];
        is_ranked_list(feature) && std::ranges::find(others, feature.name) == others.end())
      lists.push_back({f, {}, 0.0});
  std::vector<double> worth = worth_of_rows(set);
  ListChoice out;
  for (std::size_t q = 0; q < set.queries.size(); ++q) {
    if (!take_query(set, q, worth, lists)) continue;
    ++out.queries;
    for (GreedyList& list : lists)
      if (std::ranges::find(set.queries[q].unasked, list.feature) == set.queries[q].unasked.end())
        list.asked += 1.0;
  }
  if (out.queries == 0) return out;
  std::vector<double> covered(worth.size(), 0.0);
  while (!lists.empty()) {
    std::vector<double> gains;
    for (const GreedyList& list : lists) gains.push_back(list.gain(worth, covered));
    const auto best = std::max_element(gains.begin(), gains.end());
    const auto at = lists.begin() + (best - gains.begin());
    for (const ListedRow& each : at->found) covered[each.row] = std::max(covered[each.row], each.discount);
    out.order.push_back(at->feature);
    out.gains.push_back(*best);
    lists.erase(at);
  }
  return out;
}

TrainingSet with_lists_only(const TrainingSet& set, std::span<const std::uint64_t> lists) {
  const auto& features = set.matrix.features();
  const auto derived = std::ranges::find_if(features, is_derived);
  TrainingSet out = set;
  out.matrix = FeatureMatrix({features.begin(), derived}, set.matrix.document_count());
  for (const std::uint64_t list : lists)
    for (std::size_t row = 0; row < out.matrix.document_count(); ++row)
      if (!set.matrix.is_unranked(row, list)) out.matrix.set(row, list, set.matrix.value(row, list));
  if (derived != features.end()) add_derived_columns(out, {derived, features.end()});
  return out;
}

std::vector<double> scores_of_listed(const Ranker& ranker, const TrainingSet& some) {
  std::vector<double> scores = ranker.score(some.matrix);
  const std::size_t lists = count_lists(some.matrix.features());
  for (std::size_t row = 0; row < scores.size(); ++row) {
    bool is_listed = false;
    for (std::size_t f = 0; f < lists && !is_listed; ++f) is_listed = !some.matrix.is_unranked(row, f);
    if (!is_listed) scores[row] = kNotListed;
  }
  return scores;
}

namespace {

/// A query's ranking: its first two scores, and its worth, of which the best ranking has 1.
struct RankingWorth {
  double first = kNotListed;
  double second = kNotListed;
  double worth = 0.0;
};

/// Divides the worth of rows by that of their query's best ranking.
///
/// out:    per query: whether any of its rows is worth anything
std::vector<bool> scale_to_best(const TrainingSet& set, std::vector<double>& worth) {
  std::vector<bool> is_any;
  for (const QueryRange& query : set.queries) {
    const std::span rows(worth.data() + query.begin, query.end - query.begin);
    std::vector<double> best(rows.begin(), rows.end());
    std::ranges::sort(best, std::greater<>());
    double whole = 0.0;
    for (std::size_t i = 0; i < std::min(best.size(), kSettledPlaces); ++i)
      whole += best[i] * rank_discount(static_cast<double>(i + 1));
    for (double& row : rows) row /= whole > 0.0 ? whole : 1.0;
    is_any.push_back(whole > 0.0);
  }
  return is_any;
}

std::vector<RankingWorth> rankings_of(const TrainingSet& some, const std::vector<double>& worth,
                                      const Ranker& ranker) {
  const std::vector<double> scores = scores_of_listed(ranker, some);
  std::vector<RankingWorth> out;
  for (const QueryRange& query : some.queries) {
    RankingWorth& ranking = out.emplace_back();
    std::size_t place = 0;
    const std::span own(scores.data() + query.begin, query.end - query.begin);
    for (const std::size_t row : fused_order(some.matrix, query.begin, query.end, own, some.documents)) {
      if (scores[row] == kNotListed || place == kSettledPlaces) break;
      if (place < 2) (place == 0 ? ranking.first : ranking.second) = scores[row];
      ranking.worth += worth[row] * rank_discount(static_cast<double>(++place));
    }
  }
  return out;
}

/// What stopping after the first lists would lose for a query, and the first result's lead there.
struct Stop {
  double lead = 0.0;
  double lost = 0.0;
};

/// How far the first result is ahead of the second on the model's scale; below 0 if there is no result.
double lead_of(const RankingWorth& ranking, const HeldOut& fold) {
  if (ranking.first == kNotListed) return -1.0;
  return ranking.second == kNotListed ? 0.0 : fold.on_scale(ranking.first) - fold.on_scale(ranking.second);
}

/// By number of lists less 1: a stop per query.
using StopsByCount = std::vector<std::vector<Stop>>;

StopsByCount stops_of(const HeldOut& fold, std::span<const std::string> others) {
  const std::vector<std::uint64_t> order = order_lists(fold.seen, others).order;
  std::vector<double> worth = worth_of_rows(fold.unseen);
  scale_to_best(fold.unseen, worth);
  const auto all = rankings_of(with_lists_only(fold.unseen, order), worth, fold.ranker);
  StopsByCount out;
  for (std::size_t count = 1; count < order.size() && count <= kMostFirstLists; ++count) {
    const auto some =
        rankings_of(with_lists_only(fold.unseen, std::span(order).first(count)), worth, fold.ranker);
    auto& stops = out.emplace_back();
    for (std::size_t q = 0; q < some.size(); ++q)
      stops.push_back({lead_of(some[q], fold), all[q].worth - some[q].worth});
  }
  return out;
}

/// The least lead with which stopping loses at most so much of all queries together, and does so with every
/// larger one.
std::optional<double> settling_lead(std::vector<Stop> stops, double may_lose) {
  std::ranges::sort(stops, std::greater<>(), &Stop::lead);
  std::optional<double> out;
  double lost = 0.0;
  for (std::size_t i = 0; i < stops.size() && stops[i].lead >= 0.0; ++i) {
    lost += stops[i].lost;
    if (i + 1 < stops.size() && stops[i + 1].lead == stops[i].lead) continue;
    if (lost > may_lose * static_cast<double>(stops.size())) break;
    out = stops[i].lead;
  }
  return out;
}

/// The queries that were asked of all lists and have something worth finding.
std::vector<bool> are_telling(const TrainingSet& set) {
  std::vector<double> worth = worth_of_rows(set);
  std::vector<bool> out = scale_to_best(set, worth);
  for (std::size_t q = 0; q < out.size(); ++q) out[q] = out[q] && set.queries[q].unasked.empty();
  return out;
}

}  // namespace

Result<void> choose_lists(const TrainingRequest& request, const Learner& learner,
                          const ListChoiceOptions& options, TrainingResult& result) {
  const TrainingSet& set = *request.train;
  ListChoice choice = order_lists(set, options.others);
  const std::vector<bool> telling = are_telling(set);
  std::set<std::string_view> bases;
  for (std::size_t q = 0; q < telling.size(); ++q)
    if (telling[q]) bases.insert(base_query_of(set.queries[q].id));
  const auto& features = set.matrix.features();
  const bool are_lists = std::ranges::all_of(
      features, [](const Feature& feature) { return is_ranked_list(feature) || is_derived(feature); });
  if (bases.size() >= kFewestSettling && are_lists) {
    std::vector<StopsByCount> folds(kHeldOutFolds);
    TRY_VOID(hold_out(request, learner, result, telling,
                      [&](const HeldOut& fold) { folds[fold.fold] = stops_of(fold, options.others); }));
    for (std::size_t count = 1; count < choice.order.size() && count <= kMostFirstLists; ++count) {
      std::vector<Stop> stops;
      for (const StopsByCount& fold : folds)
        if (count <= fold.size()) stops.insert(stops.end(), fold[count - 1].begin(), fold[count - 1].end());
      if (const auto lead = settling_lead(std::move(stops), options.may_lose)) choice.settled[count] = *lead;
    }
  }
  if (!choice.order.empty()) result.model.choice = std::move(choice);
  return {};
}

}  // namespace metafuse::fusion
