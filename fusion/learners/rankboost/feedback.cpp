#include "fusion/learners/rankboost/feedback.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fusion/data/communicator.h"
#include "fusion/learners/common/feedback_grades.h"

namespace metafuse::fusion::rankboost {
namespace {

/// The grade classes of one query and its total weight before normalisation.
struct QueryTotals {
  std::vector<double> grades;          // distinct, ascending
  std::vector<std::uint64_t> members;  // number of documents of each grade
  double weight = 0.0;
  std::uint64_t pairs = 0;
};

QueryTotals totals_of(const TrainingSet& set, const QueryRange& range) {
  QueryTotals totals;
  std::vector<double> all;
  for (std::size_t row = range.begin; row < range.end; ++row)
    if (is_in_feedback(set, row)) all.push_back(feedback_grade(set, row));
  std::sort(all.begin(), all.end());
  for (const double grade : all) {
    if (totals.grades.empty() || totals.grades.back() != grade) {
      totals.grades.push_back(grade);
      totals.members.push_back(0);
    }
    ++totals.members.back();
  }
  for (std::size_t a = 0; a < totals.grades.size(); ++a)
    for (std::size_t b = a + 1; b < totals.grades.size(); ++b) {
      const std::uint64_t pairs = totals.members[a] * totals.members[b];
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
    for (const QueryRange& range : set_.queries) TRY_VOID(add(range));
    note_single_bipartite();
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
    const QueryTotals totals = totals_of(set_, range);
    if (totals.grades.size() >= Feedback::kNone)
      return fail(Code::bad_data, "query \"" + range.id + "\": more than 65534 different grades; round them");
    double weight = totals.weight;
    const std::size_t pairs_begin = next_pair_;
    while (next_pair_ < pairs_.size() && pairs_[next_pair_].below < range.end)
      weight += pairs_[next_pair_++].weight;
    if (!std::isfinite(weight))
      return fail(Code::bad_data, "query \"" + range.id +
                                      "\": the weights of its pairs overflow; "
                                      "use smaller ones, or other --grade-weights");
    const std::uint64_t pairs = totals.pairs + (next_pair_ - pairs_begin);
    const bool is_given = set_.feedback.query_weights == FeedbackOptions::QueryWeights::given;
    if (pairs == 0 || !(weight > 0.0) || (is_given && range.weight <= 0.0)) {
      ++feedback_.left_out;
      return {};
    }
    QueryFeedback query{range.begin,
                        range.end,
                        static_cast<std::uint32_t>(totals.grades.size()),
                        feedback_.weights.size(),
                        feedback_.class_count,
                        feedback_.pairs.size(),
                        0};
    const bool is_flat = set_.feedback.query_weights == FeedbackOptions::QueryWeights::pairs;
    const double share = is_flat ? 1.0 : (is_given ? range.weight : 1.0) / weight;
    query_weights_.push_back(is_flat ? weight : (is_given ? range.weight : 1.0));
    for (const double lower : totals.grades)
      for (const double upper : totals.grades)
        feedback_.weights.push_back(lower < upper ? share * grade_weight(set_.feedback, lower, upper) : 0.0);
    assign_classes(range, totals);
    for (std::size_t i = pairs_begin; i < next_pair_; ++i) {
      feedback_.pairs.push_back({pairs_[i].below, pairs_[i].above, pairs_[i].weight * share});
      if (is_turned_around(pairs_[i])) ++feedback_.contradictory_pairs;
    }
    query.pairs_end = feedback_.pairs.size();
    feedback_.class_count += query.classes;
    feedback_.crucial_pairs += pairs;
    feedback_.used_documents += range.end - range.begin;
    feedback_.queries.push_back(query);
    return {};
  }

  void assign_classes(const QueryRange& range, const QueryTotals& totals) {
    for (std::size_t row = range.begin; row < range.end; ++row) {
      feedback_.is_used[row] = 1;
      if (!is_in_feedback(set_, row)) continue;
      const double grade = feedback_grade(set_, row);
      feedback_.classes[row] = static_cast<std::uint16_t>(
          std::lower_bound(totals.grades.begin(), totals.grades.end(), grade) - totals.grades.begin());
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
    std::int64_t counts[] = {static_cast<std::int64_t>(feedback_.queries.size()),
                             static_cast<std::int64_t>(feedback_.crucial_pairs),
                             static_cast<std::int64_t>(feedback_.used_documents),
                             static_cast<std::int64_t>(feedback_.left_out),
                             static_cast<std::int64_t>(feedback_.contradictory_pairs),
                             static_cast<std::int64_t>(feedback_.below),
                             static_cast<std::int64_t>(feedback_.above),
                             feedback_.is_single_bipartite ? 1 : 0};
    sum_over_processes(communicator_, counts);
    feedback_.query_count = static_cast<std::uint64_t>(counts[0]);
    feedback_.crucial_pairs = static_cast<std::uint64_t>(counts[1]);
    feedback_.used_documents = static_cast<std::uint64_t>(counts[2]);
    feedback_.left_out = static_cast<std::uint64_t>(counts[3]);
    feedback_.contradictory_pairs = static_cast<std::uint64_t>(counts[4]);
    feedback_.is_single_bipartite = counts[0] == 1 && counts[7] == 1;
    feedback_.below = static_cast<std::uint64_t>(counts[5]);
    feedback_.above = static_cast<std::uint64_t>(counts[6]);
  }

  void note_single_bipartite() {
    if (feedback_.queries.size() != 1 || feedback_.queries[0].classes != 2 || !feedback_.pairs.empty())
      return;
    feedback_.is_single_bipartite = true;
    for (const std::uint16_t place : feedback_.classes) {
      if (place == 0) ++feedback_.below;
      if (place == 1) ++feedback_.above;
    }
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
