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
#include "fusion/learners/common/validation.h"
#include "fusion/training/held_out.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kSettledPlaces = 10;  // places of a ranking that must be settled
constexpr std::size_t kOrderedPlaces = 30;  // that lists are ordered for: where one list fills the first ten
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
    const bool is_found = set.in_feedback[row] != 0 && is_relevant(set, set.grades[row]);
    if (is_found && set.grades[row] > 0.0)
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

/// Divides the worth of rows by that of the first places of their query's best ranking.
///
/// out:    per query: whether any of its rows is worth anything
std::vector<bool> scale_to_best(const TrainingSet& set, std::size_t places, std::vector<double>& worth) {
  std::vector<bool> is_any;
  for (const QueryRange& query : set.queries) {
    const std::span rows(worth.data() + query.begin, query.end - query.begin);
    std::vector<double> best(rows.begin(), rows.end());
    std::ranges::sort(best, std::greater<>());
    double whole = 0.0;
    for (std::size_t i = 0; i < std::min(best.size(), places); ++i)
      whole += best[i] * rank_discount(static_cast<double>(i + 1));
    for (double& row : rows) row /= whole > 0.0 ? whole : 1.0;
    is_any.push_back(whole > 0.0);
  }
  return is_any;
}

/// A document that a list ranks, and what the list adds to its score.
struct ListedRow {
  std::size_t row = 0;
  std::uint32_t rank = 0;
  double part = 0.0;
};

using ListedRows = std::vector<ListedRow>;  // of one query, ascending

struct GreedyList {
  std::uint32_t feature = 0;
  std::vector<ListedRows> found{};  ///< per query
  double asked = 0.0;               ///< number of queries that asked for it
};

/// What lists found for queries with something worth finding, which are numbered from 0.
struct Findings {
  std::vector<GreedyList> lists;
  std::vector<double> worth;  ///< per row

  std::size_t query_count() const { return lists.empty() ? 0 : lists.front().found.size(); }
  /// Adds those of other queries, whose lists are the same.
  void add(const Findings& more) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      lists[i].asked += more.lists[i].asked;
      for (const ListedRows& rows : more.lists[i].found) {
        lists[i].found.push_back(rows);
        for (ListedRow& each : lists[i].found.back()) each.row += worth.size();
      }
    }
    worth.insert(worth.end(), more.worth.begin(), more.worth.end());
  }
};

/// The documents that a list ranks, scored as if there were no other list.
std::vector<ListedRows> found_by(const TrainingSet& set, const Ranker& ranker, std::uint32_t feature) {
  std::vector<ListedRows> found;
  std::size_t count = 0;
  for (const QueryRange& query : set.queries) {
    auto& rows = found.emplace_back();
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (!set.matrix.is_unranked(row, feature))
        rows.push_back({row, whole_rank(-set.matrix.value(row, feature)), 0.0});
    count += rows.size();
  }
  FeatureMatrix alone(set.matrix.features(), count + 1);  // the last document is in no list
  std::size_t next = 0;
  for (const auto& rows : found)
    for (const ListedRow& each : rows) alone.set(next++, feature, set.matrix.value(each.row, feature));
  const std::vector<double> scores = ranker.score(alone);
  next = 0;
  for (auto& rows : found)
    for (ListedRow& each : rows) each.part = scores[next++] - scores.back();
  return found;
}

/// The rankings by the lists that have been chosen so far.
class ChosenRankings {
 public:
  /// in: findings - must outlive this object
  explicit ChosenRankings(const Findings& findings)
      : worth_(findings.worth),
        placings_(worth_.size()),
        orders_(findings.query_count()),
        values_(findings.query_count(), 0.0) {}

  /// What a list that finds these documents adds to the worth of a query's ranking.
  double gain(std::size_t query, const ListedRows& found) const {
    std::vector<Placing> first;
    for (const std::size_t row : orders_[query]) {
      if (first.size() == kOrderedPlaces) break;
      if (!std::ranges::binary_search(found, row, {}, &ListedRow::row)) first.push_back(placing_of(row));
    }
    for (const ListedRow& each : found) first.push_back(placing_with(each));
    const auto end = first.begin() + std::min(std::ssize(first), std::ptrdiff_t{kOrderedPlaces});
    std::partial_sort(first.begin(), end, first.end());
    double value = 0.0;
    for (auto at = first.begin(); at != end; ++at)
      value += worth_[at->row] * rank_discount(static_cast<double>(at - first.begin() + 1));
    return value - values_[query];
  }

  void add(std::size_t query, const ListedRows& found) {
    values_[query] += gain(query, found);
    std::vector<std::size_t>& order = orders_[query];
    for (const ListedRow& each : found) {
      if (placings_[each.row].standing.lists == 0) order.push_back(each.row);
      placings_[each.row] = placing_with(each);
    }
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return placing_of(a) < placing_of(b); });
  }

 private:
  /// A document's place among others, the first of which is the least.
  struct Placing {
    double score = 0.0;
    Standing standing{};
    std::size_t row = 0;

    bool operator<(const Placing& other) const {
      if (score != other.score) return score > other.score;
      const std::uint64_t own = standing.number(), of_other = other.standing.number();
      return own != of_other ? own < of_other : row < other.row;
    }
  };
  Placing placing_of(std::size_t row) const {
    Placing out = placings_[row];
    out.row = row;
    return out;
  }
  Placing placing_with(const ListedRow& listed) const {
    Placing out = placing_of(listed.row);
    out.score += listed.part;
    out.standing.add(listed.rank);
    return out;
  }

  const std::vector<double>& worth_;
  std::vector<Placing> placings_;                 ///< per row
  std::vector<std::vector<std::size_t>> orders_;  ///< per query, its listed rows, best first
  std::vector<double> values_;                    ///< per query, what its ranking is worth
};

Findings findings_of(const TrainingSet& set, const Ranker& ranker, std::span<const std::string> others) {
  Findings out{{}, worth_of_rows(set)};
  scale_to_best(set, kOrderedPlaces, out.worth);
  for (std::uint32_t f = 0; f < set.matrix.feature_count(); ++f)
    if (const Feature& feature = set.matrix.features()[f];
        is_ranked_list(feature) && std::ranges::find(others, feature.name) == others.end())
      out.lists.push_back({f, found_by(set, ranker, f)});
  const auto is_worth = [&](const ListedRow& each) { return out.worth[each.row] > 0.0; };
  for (std::size_t q = set.queries.size(); q-- > 0;) {
    const bool is_telling = std::ranges::any_of(
        out.lists, [&](const GreedyList& list) { return std::ranges::any_of(list.found[q], is_worth); });
    const std::vector<std::uint32_t>& unasked = set.queries[q].unasked;
    for (GreedyList& list : out.lists)
      if (!is_telling)
        list.found.erase(list.found.begin() + static_cast<std::ptrdiff_t>(q));
      else if (std::ranges::find(unasked, list.feature) == unasked.end())
        list.asked += 1.0;
  }
  return out;
}

ListChoice order_of(const Findings& findings) {
  ListChoice out;
  out.queries = findings.query_count();
  if (out.queries == 0) return out;
  std::vector<const GreedyList*> left;
  for (const GreedyList& list : findings.lists) left.push_back(&list);
  ChosenRankings chosen(findings);
  while (!left.empty()) {
    std::vector<double> gains;
    for (const GreedyList* list : left) {
      double sum = 0.0;
      for (std::size_t q = 0; q < out.queries; ++q) sum += chosen.gain(q, list->found[q]);
      gains.push_back(sum / (list->asked + kDoubt));
    }
    const auto best = std::ranges::max_element(gains);
    const auto at = left.begin() + (best - gains.begin());
    for (std::size_t q = 0; q < out.queries; ++q) chosen.add(q, (*at)->found[q]);
    out.order.push_back((*at)->feature);
    out.gains.push_back(*best);
    left.erase(at);
  }
  return out;
}

}  // namespace

ListChoice order_lists(const TrainingSet& set, const Ranker& ranker, std::span<const std::string> others) {
  return order_of(findings_of(set, ranker, others));
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
  const std::vector<std::uint64_t> order = order_lists(fold.seen, fold.ranker, others).order;
  std::vector<double> worth = worth_of_rows(fold.unseen);
  scale_to_best(fold.unseen, kSettledPlaces, worth);
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
  std::vector<bool> out = scale_to_best(set, kSettledPlaces, worth);
  for (std::size_t q = 0; q < out.size(); ++q) out[q] = out[q] && set.queries[q].unasked.empty();
  return out;
}

}  // namespace

Result<void> choose_lists(const TrainingRequest& request, const Learner& learner,
                          const ListChoiceOptions& options, TrainingResult& result) {
  const TrainingSet& set = *request.train;
  const Ranker& ranker = *result.model.ranker;
  const std::vector<bool> telling = are_telling(set);
  std::set<std::string_view> bases;
  for (std::size_t q = 0; q < telling.size(); ++q)
    if (telling[q]) bases.insert(base_query_of(set.queries[q].id));
  const auto& features = set.matrix.features();
  const bool are_lists = std::ranges::all_of(
      features, [](const Feature& feature) { return is_ranked_list(feature) || is_derived(feature); });
  ListChoice choice = order_lists(set, ranker, options.others);
  if (bases.size() >= kFewestSettling && are_lists) {
    std::vector<StopsByCount> folds(kHeldOutFolds);
    std::vector<Findings> unseen(kHeldOutFolds);
    TRY_VOID(hold_out(request, learner, result, telling, [&](const HeldOut& fold) {
      folds[fold.fold] = stops_of(fold, options.others);
      unseen[fold.fold] = findings_of(fold.unseen, fold.ranker, options.others);
    }));
    Findings findings = findings_of(set, ranker, options.others);
    for (const Findings& fold : unseen) findings.add(fold);
    const std::size_t queries = std::exchange(choice, order_of(findings)).queries;
    choice.queries = queries;
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
