#include "fusion/training/auto_candidates.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace metafuse::fusion {
namespace {

/// How RankBoost starts from RRF.
const std::map<std::string, std::string> kFromRrf = {{"rounds", "50"}};
/// The same where pairs are given. Most are clicks', which are balanced so that they do not tell the order
/// that was shown: the rounds learn beside RRF instead of from it, and count as far as they are reliable.
const std::map<std::string, std::string> kBesideRrf = {
    {"rounds", "50"}, {"start", "nothing"}, {"shrink-by", "halves"}};
constexpr std::size_t kManyLists = 30;

std::size_t count_lists(const TrainingSet& set) {
  const auto& features = set.matrix.features();
  return static_cast<std::size_t>(std::count_if(features.begin(), features.end(), [](const Feature& feature) {
    return feature.kind == FeatureKind::rank;
  }));
}

/// The candidates, from the safest on.
class CandidateList {
 public:
  CandidateList(const TrainingSet& set, const std::vector<Learner>& learners) : learners_(learners) {
    const std::size_t lists = count_lists(set);
    const bool are_bags_cheap = set.queries.size() <= kMostQueriesForBags && lists <= kManyLists;
    if (lists > 0 && !set.pairs.empty())
      add("reciprocal-ranks", kBesideRrf, {{"RankBoost beside RRF", {}}}, true);
    if (lists > 0) add_lists(lists > kManyLists);
    add_boosted(lists <= kManyLists, lists == 0);
    if (are_bags_cheap) add_bags(lists > 0, set.pairs.empty());
  }

  std::vector<Candidate> take() { return std::move(candidates_); }

 private:
  /// Does nothing when the learner is not among those to choose from.
  void add(std::string_view learner, std::map<std::string, std::string> options, std::vector<Cut> cuts,
           bool is_safe = false, std::string trial_bags = {}) {
    for (const Learner& row : learners_)
      if (row.name == learner)
        candidates_.push_back(
            {&row, std::move(options), std::move(cuts), std::move(trial_bags), is_safe, is_safe});
  }

  static std::vector<Cut> after(const std::string& name, std::initializer_list<std::size_t> rounds) {
    std::vector<Cut> cuts;
    for (const std::size_t count : rounds) cuts.push_back({fmt::format("{}, {} rounds", name, count), count});
    return cuts;
  }

  void add_lists(bool are_many) {
    add("reciprocal-ranks", kFromRrf, {{"RankBoost from RRF", {}}}, true);
    add("reciprocal-ranks", {}, {{kRrfCandidate, {}}}, true);
    add("reciprocal-ranks", {{"weights", "best"}}, {{"best list", {}}});
    if (!candidates_.empty()) candidates_.back().is_bold = true;
    // Weights are tuned once for both.
    add("reciprocal-ranks", {{"weights", "tuned"}, {"k-by", "training"}, {"rounds", "50"}},
        {{"tuned weights", 0}, {"RankBoost from tuned weights", 50}});
    if (!candidates_.empty()) candidates_.back().is_for_few = are_many;
  }

  void add_boosted(bool is_cheap, bool is_safe) {
    add("rankboost", {{"rounds", "100"}}, after("RankBoost 3.cum", {20, 50, 100}), is_safe);
    if (is_cheap)
      add("rankboost", {{"rounds", "50"}, {"weak-learner", "2.cum"}}, after("RankBoost 2.cum", {20, 50}));
    add("rankboost", {{"rounds", "50"}, {"weak-ranking", "value"}}, {{"RankBoost of values", {}}});
  }

  void add_bags(bool has_lists, bool is_graded) {
    auto from_rrf = kFromRrf;
    from_rrf["bags"] = "10";
    if (has_lists) add("reciprocal-ranks", from_rrf, {{"bagged RankBoost from RRF", {}}}, false, "3");
    add("rankboost-bagged", {{"rounds", "50"}, {"bags", "10"}}, {{"bagged RankBoost", {}}}, false, "3");
    if (is_graded)
      add("monotone-trees", {{"bags", "8"}, {"tree-depth", "2"}}, {{"monotone trees", {}}}, false, "1");
  }

  const std::vector<Learner>& learners_;
  std::vector<Candidate> candidates_;
};

}  // namespace

bool has_many_lists(const TrainingSet& set) {
  return count_lists(set) > kManyLists;
}

std::vector<Candidate> auto_candidates(const TrainingSet& set, const std::vector<Learner>& learners) {
  return CandidateList(set, learners).take();
}

}  // namespace metafuse::fusion
