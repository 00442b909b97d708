#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "evaluation/measures/measure.h"
#include "fusion/unsupervised/supervised_fusion.h"

// Changing the weight of a list moves only the documents of that list, and average precision depends only on
// how many documents stand at or above each relevant one. So each query keeps its sums sorted, and a trial
// recounts only what the moved documents change: trying a weight for a list of 100 out of 2,000 documents
// does not touch the other 1,900.
namespace metafuse::fusion {
namespace {

constexpr std::array<double, 8> kWeightSteps = {0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5};
constexpr std::size_t kListsForOneSweep = 50;
constexpr double kLeastPrecisionGain = 1e-9;  // relative; a smaller gain may be a rounding error

/// The number of leading values that fulfil a condition which no later value fulfils. Avoids branches that
/// the processor could mispredict: nearly all of the search's time is spent here.
template <class Condition>
std::size_t leading(const std::vector<double>& values, const Condition& holds) {
  const double* base = values.data();
  std::size_t left = values.size();
  if (left == 0) return 0;
  while (left > 1) {
    const std::size_t half = left / 2;
    base += half * static_cast<std::size_t>(holds(base[half - 1]));
    left -= half;
  }
  return static_cast<std::size_t>(base - values.data()) + (holds(*base) ? 1 : 0);
}

/// The number of values that are at least `bound`.
std::size_t count_at_least(const std::vector<double>& ascending, double bound) {
  return ascending.size() - leading(ascending, [bound](double value) { return value < bound; });
}

/// Relevant documents, best first: their sums, and how many documents of some kind have at least each sum.
struct Places {
  std::vector<double> sums;
  std::vector<std::size_t> at_least;

  void clear() {
    sums.clear();
    at_least.clear();
  }
  void add(double sum, std::size_t count) {
    sums.push_back(sum);
    at_least.push_back(count);
  }
  std::size_t size() const { return sums.size(); }

  /// For each relevant document, counts the values that are at least its sum.
  void count(const std::vector<double>& values, std::vector<std::size_t>& counts) const {
    counts.assign(size() + 1, 0);
    for (const double value : values) ++counts[leading(sums, [value](double sum) { return sum > value; })];
    for (std::size_t i = 1; i < size(); ++i) counts[i] += counts[i - 1];
  }
};

/// One training query, with its normalised scores and the current weighted sums.
class TunedQuery {
 public:
  TunedQuery(const JudgedLists& judged, const std::vector<double>& weights, Normalisation normalisation)
      : query_(normalised(judged.query, normalisation)), relevant_(static_cast<double>(judged.relevant)) {
    trial_.is_moved.assign(query_.size(), 0);
    sums_.assign(query_.size(), 0.0);
    for (std::size_t list = 0; list < weights.size(); ++list)
      for (const ListEntry& entry : query_.lists[list]) sums_[entry.document] += weights[list] * entry.score;
    ascending_ = sums_;
    std::sort(ascending_.begin(), ascending_.end());
    for (std::uint32_t document = 0; document < sums_.size(); ++document)
      if (judged.is_relevant[document] != 0) found_.push_back(document);
    for (const auto& list : query_.lists) {
      relevant_at_.emplace_back();
      for (std::uint32_t i = 0; i < list.size(); ++i)
        if (judged.is_relevant[list[i].document] != 0) relevant_at_.back().push_back(i);
    }
    find_places();
  }

  /// The average precision with the current weights; ties count against the relevant document.
  double precision() const { return precision_of(places_.at_least); }

  /// Prepares to try weights of one list.
  void take_up(std::size_t list) {
    for (const ListEntry& entry : query_.lists[trial_.list]) trial_.is_moved[entry.document] = 0;
    trial_.list = list;
    trial_.leaving.clear();
    for (const ListEntry& entry : query_.lists[list]) {
      trial_.is_moved[entry.document] = 1;
      trial_.leaving.push_back(sums_[entry.document]);
    }
    std::sort(trial_.leaving.begin(), trial_.leaving.end());
    places_.count(trial_.leaving, trial_.counts);
    trial_.staying.clear();
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (trial_.is_moved[found_[i]] == 0)
        trial_.staying.add(places_.sums[i], places_.at_least[i] - trial_.counts[i]);
  }

  /// The average precision if the weight of that list changed by `change`.
  double precision_after(double change) {
    if (found_.empty()) return 0.0;
    const std::vector<ListEntry>& list = query_.lists[trial_.list];
    trial_.arriving.clear();
    for (const ListEntry& entry : list)
      trial_.arriving.push_back(sums_[entry.document] + change * entry.score);
    trial_.moved.clear();
    for (const std::uint32_t at : relevant_at_[trial_.list]) trial_.moved.push_back(trial_.arriving[at]);
    std::sort(trial_.moved.begin(), trial_.moved.end(), std::greater<>());
    trial_.all.clear();
    std::size_t staying = 0;
    for (const double sum : trial_.moved) {
      for (; staying < trial_.staying.size() && trial_.staying.sums[staying] >= sum; ++staying)
        trial_.all.add(trial_.staying.sums[staying], trial_.staying.at_least[staying]);
      trial_.all.add(sum, count_at_least(ascending_, sum) - count_at_least(trial_.leaving, sum));
    }
    for (; staying < trial_.staying.size(); ++staying)
      trial_.all.add(trial_.staying.sums[staying], trial_.staying.at_least[staying]);
    trial_.all.count(trial_.arriving, trial_.counts);
    for (std::size_t i = 0; i < trial_.all.size(); ++i) trial_.all.at_least[i] += trial_.counts[i];
    return precision_of(trial_.all.at_least);
  }

  /// Changes the weight of that list.
  void move(double change) {
    trial_.arriving.clear();
    for (const ListEntry& entry : query_.lists[trial_.list])
      trial_.arriving.push_back(sums_[entry.document] += change * entry.score);
    std::sort(trial_.arriving.begin(), trial_.arriving.end());
    std::vector<double> staying;
    staying.reserve(ascending_.size());
    std::set_difference(ascending_.begin(), ascending_.end(), trial_.leaving.begin(), trial_.leaving.end(),
                        std::back_inserter(staying));
    ascending_.clear();
    std::merge(staying.begin(), staying.end(), trial_.arriving.begin(), trial_.arriving.end(),
               std::back_inserter(ascending_));
    find_places();
  }

 private:
  void find_places() {
    std::sort(found_.begin(), found_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return sums_[a] > sums_[b]; });
    places_.clear();
    for (const std::uint32_t document : found_)
      places_.add(sums_[document], count_at_least(ascending_, sums_[document]));
  }

  double precision_of(const std::vector<std::size_t>& at_least) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < at_least.size(); ++i)
      sum += static_cast<double>(i + 1) / static_cast<double>(at_least[i]);
    return at_least.empty() ? 0.0 : sum / relevant_;
  }

  /// The list whose weight is being tried. Kept from trial to trial, so that its memory is reused.
  struct Trial {
    std::size_t list = 0;
    std::vector<char> is_moved;    ///< by document: whether it is in the list
    std::vector<double> leaving;   ///< sums of the documents in the list, ascending
    std::vector<double> arriving;  ///< the same after a move
    std::vector<double> moved;     ///< those of the relevant documents in it
    Places staying;                ///< relevant documents not in the list, counting only documents not in it
    Places all;                    ///< all relevant documents, after a move
    std::vector<std::size_t> counts;
  };

  QueryLists query_;
  std::vector<std::vector<std::uint32_t>> relevant_at_;  ///< by list: positions of its relevant documents
  double relevant_ = 0.0;                                ///< judged relevant documents, in a list or not
  std::vector<double> sums_;                             ///< by document
  std::vector<double> ascending_;                        ///< the same, sorted
  std::vector<std::uint32_t> found_;                     ///< relevant documents in the lists, best first
  Places places_;                                        ///< the same, counting all documents
  Trial trial_;
};

/// Precisions as weights: divided by the best one; all 1 if no list finds anything.
std::vector<double> weights_by(const std::vector<double>& precisions) {
  std::vector<double> weights = precisions;
  if (weights.empty()) return weights;
  const double best = *std::max_element(precisions.begin(), precisions.end());
  for (double& weight : weights) weight = best > 0.0 ? weight / best : 1.0;
  return weights;
}

/// Moves the weight of one list along the grid while that gains, first upwards, then downwards.
///
/// in:  best - the sum of the queries' precisions with the present weight
/// out: the chosen weight; best - the sum with that weight
double climb(std::vector<TunedQuery>& queries, std::size_t list, double weight, double& best) {
  for (TunedQuery& query : queries) query.take_up(list);
  double chosen = weight;
  const auto walk = [&](auto step, auto end) {
    for (; step != end; ++step) {
      double precision = 0.0;
      for (TunedQuery& query : queries) precision += query.precision_after(*step - weight);
      if (precision <= best * (1.0 + kLeastPrecisionGain)) return;
      best = precision;
      chosen = *step;
    }
  };
  walk(std::upper_bound(kWeightSteps.begin(), kWeightSteps.end(), weight), kWeightSteps.end());
  if (chosen == weight)
    walk(std::make_reverse_iterator(std::lower_bound(kWeightSteps.begin(), kWeightSteps.end(), weight)),
         kWeightSteps.rend());
  return chosen;
}

}  // namespace

std::vector<double> mean_average_precisions(std::span<const JudgedLists> queries) {
  std::vector<double> out(queries.empty() ? 0 : queries[0].query.lists.size(), 0.0);
  for (const JudgedLists& item : queries)
    for (std::size_t list = 0; list < out.size(); ++list) {
      double found = 0.0;
      double sum = 0.0;
      for (std::size_t i = 0; i < item.query.lists[list].size(); ++i) {
        if (item.is_relevant[item.query.lists[list][i].document] == 0) continue;
        found += 1.0;
        sum += found / static_cast<double>(i + 1);
      }
      if (item.relevant > 0)
        out[list] += sum / static_cast<double>(item.relevant) / static_cast<double>(queries.size());
    }
  return out;
}

double precision_of_weighted_lists(std::span<const JudgedLists> queries, Normalisation normalisation) {
  const std::vector<double> weights = weights_by(mean_average_precisions(queries));
  double sum = 0.0;
  for (const JudgedLists& judged : queries) sum += TunedQuery(judged, weights, normalisation).precision();
  return queries.empty() ? 0.0 : sum / static_cast<double>(queries.size());
}

std::vector<double> tune_weights(std::span<const JudgedLists> queries, Normalisation normalisation) {
  const std::vector<double> precisions = mean_average_precisions(queries);
  std::vector<double> weights = weights_by(precisions);
  std::vector<TunedQuery> items;
  for (const JudgedLists& judged : queries) items.emplace_back(judged, weights, normalisation);
  double best = 0.0;
  for (const TunedQuery& item : items) best += item.precision();
  const int sweeps = weights.size() > kListsForOneSweep ? 1 : 3;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool has_changed = false;
    for (const std::uint32_t list : evaluation::order_by_score(precisions)) {
      const double chosen = climb(items, list, weights[list], best);
      if (chosen == weights[list]) continue;
      has_changed = true;
      for (TunedQuery& item : items) item.move(chosen - weights[list]);
      weights[list] = chosen;
    }
    if (!has_changed) break;
  }
  return weights;
}

}  // namespace metafuse::fusion
