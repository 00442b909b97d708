#include "fusion/learners/rankboost/feedback.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "fusion/data/communicator.h"
#include "fusion/learners/common/feedback_grades.h"

namespace metafuse::fusion::rankboost {
namespace {

/// The grade classes of one query and its total weight before normalisation.
struct QueryTotals {
  std::vector<double> grades;        // distinct, ascending
  std::vector<std::size_t> members;  // number of documents of each grade
  double weight = 0.0;
  std::size_t pairs = 0;
};

QueryTotals totals_of(const TrainingSet& set, const QueryRange& range, std::vector<double> grades) {
  QueryTotals totals;
  totals.grades = std::move(grades);
  totals.members.resize(totals.grades.size());
  for (std::size_t row = range.begin; row < range.end; ++row)
    if (is_in_feedback(set, row)) ++totals.members[place_of(totals.grades, feedback_grade(set, row))];
  for (std::size_t a = 0; a < totals.grades.size(); ++a)
    for (std::size_t b = a + 1; b < totals.grades.size(); ++b) {
      const std::size_t pairs = totals.members[a] * totals.members[b];
      totals.pairs += pairs;
      totals.weight +=
          static_cast<double>(pairs) * grade_weight(set.feedback, totals.grades[a], totals.grades[b]);
    }
  return totals;
}

class Maker {
 public:
  Maker(const TrainingSet& set, Communicator* communicator)
      : set_(set), communicator_(communicator), pairs_(set.pairs) {
    std::sort(pairs_.begin(), pairs_.end(), [](const WeightedPair& a, const WeightedPair& b) {
      if (a.below != b.below) return a.below < b.below;
      if (a.above != b.above) return a.above < b.above;
      return a.weight < b.weight;
    });
  }

  Result<Feedback> run() {
    feedback_.classes.assign(set_.grades.size(), Feedback::kNone);
    feedback_.is_used.assign(set_.grades.size(), 0);
    feedback_.pairs.reserve(pairs_.size());
    for (const QueryRange& range : set_.queries) TRY_VOID(add(range));
    add_up();
    if (feedback_.query_count == 0)
      return fail(Code::bad_data,
                  "no query has a crucial pair, because no query's lists contain documents of two "
                  "different grades; check that the judgments belong to these lists");
    TRY_VOID(normalise());
    return std::move(feedback_);
  }

 private:
  Result<void> add(const QueryRange& range) {
    std::vector<double> grades = grades_of(set_, range);
    if (grades.size() * grades.size() > Feedback::kMostWeights - feedback_.weights.size())
      return fail(Code::bad_data,
                  "query \"" + range.id + "\": with its " + std::to_string(grades.size()) +
                      " different grades, the weights of all queries' pairs of grades take more than 1 GiB; "
                      "round the grades");
    const QueryTotals totals = totals_of(set_, range, std::move(grades));
    double weight = totals.weight;
    const std::size_t first = next_pair_;
    while (next_pair_ < pairs_.size() && pairs_[next_pair_].below < range.end)
      weight += pairs_[next_pair_++].weight;
    if (!std::isfinite(weight))
      return fail(Code::bad_data, "query \"" + range.id +
                                      "\": the weights of its pairs overflow; "
                                      "use smaller ones, or other --grade-weights");
    const std::span general = std::span(pairs_).subspan(first, next_pair_ - first);
    const std::size_t pairs = totals.pairs + general.size();
    const double query_weight = weight_of_query(set_.feedback, range, weight);
    if (pairs == 0 || !(weight > 0.0) || query_weight <= 0.0) {
      ++feedback_.left_out;
      return {};
    }
    feedback_.crucial_pairs += static_cast<std::int64_t>(pairs);
    query_weights_.push_back(query_weight);
    take(range, totals, general, query_weight / weight);
    return {};
  }

  void take(const QueryRange& range, const QueryTotals& totals, std::span<const WeightedPair> general,
            double share) {
    feedback_.queries.push_back({range.begin, range.end, static_cast<std::uint32_t>(totals.grades.size()),
                                 feedback_.weights.size(), feedback_.members.size(), feedback_.pairs.size(),
                                 feedback_.pairs.size() + general.size()});
    feedback_.members.insert(feedback_.members.end(), totals.members.begin(), totals.members.end());
    feedback_.used_documents += static_cast<std::int64_t>(range.end - range.begin);
    for (const double lower : totals.grades)
      for (const double upper : totals.grades)
        feedback_.weights.push_back(lower < upper ? share * grade_weight(set_.feedback, lower, upper) : 0.0);
    for (std::size_t row = range.begin; row < range.end; ++row) {
      feedback_.is_used[row] = 1;
      if (is_in_feedback(set_, row))
        feedback_.classes[row] =
            static_cast<std::uint16_t>(place_of(totals.grades, feedback_grade(set_, row)));
    }
    for (const WeightedPair& pair : general) {
      feedback_.pairs.push_back({pair.below, pair.above, pair.weight * share});
      if (is_turned_around(pair)) ++feedback_.contradictory_pairs;
    }
  }

  bool is_turned_around(const WeightedPair& pair) const {
    if (is_in_feedback(set_, pair.below) && is_in_feedback(set_, pair.above) &&
        feedback_.classes[pair.below] > feedback_.classes[pair.above])
      return true;
    const auto at = std::lower_bound(
        pairs_.begin(), pairs_.end(), pair, [](const WeightedPair& item, const WeightedPair& key) {
          return item.below != key.above ? item.below < key.above : item.above < key.below;
        });
    return at != pairs_.end() && at->below == pair.above && at->above == pair.below;
  }

  Result<void> normalise() {
    const double total = exact_sum(numbers_of_processes(communicator_, query_weights_));
    if (!std::isnormal(total))
      return fail(Code::bad_data,
                  "the sum of all pairs' weights overflows or is almost zero; "
                  "scale the weights");
    for (double& weight : feedback_.weights) weight /= total;
    for (WeightedPair& pair : feedback_.pairs) pair.weight /= total;
    return {};
  }

  /// Sums the counts over all MPI processes.
  void add_up() {
    feedback_.query_count = static_cast<std::int64_t>(feedback_.queries.size());
    SingleBipartite single;
    if (feedback_.queries.size() == 1 && feedback_.members.size() == 2 && feedback_.pairs.empty())
      single = {static_cast<std::int64_t>(feedback_.members[0]),
                static_cast<std::int64_t>(feedback_.members[1])};
    std::int64_t* const totals[] = {
        &feedback_.query_count, &feedback_.crucial_pairs,       &feedback_.used_documents,
        &feedback_.left_out,    &feedback_.contradictory_pairs, &single.below,
        &single.above};
    std::vector<std::int64_t> sums;
    for (const std::int64_t* total : totals) sums.push_back(*total);
    sum_over_processes(communicator_, sums);
    for (std::size_t i = 0; i < sums.size(); ++i) *totals[i] = sums[i];
    if (feedback_.query_count == 1 && single.below > 0) feedback_.single_bipartite = single;
  }

  const TrainingSet& set_;
  Communicator* communicator_;
  std::vector<WeightedPair> pairs_;
  std::size_t next_pair_ = 0;
  std::vector<double> query_weights_;
  Feedback feedback_;
};

}  // namespace

Result<Feedback> make_feedback(const TrainingSet& set, Communicator* communicator) {
  return Maker(set, communicator).run();
}

}  // namespace metafuse::fusion::rankboost
