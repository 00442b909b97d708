#include "fusion/training/auto_candidates.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion {
namespace {

using GivenOptions = std::map<std::string, std::string>;

constexpr std::size_t kManyLists = 30;
/// So few lists are mostly of one index and find the same documents. Boosting then learns little that weights
/// do not, and errs more.
constexpr std::size_t kFewLists = 12;

std::vector<WeakRanking> first_of(const std::vector<WeakRanking>& rankings, std::size_t rounds) {
  return {rankings.begin(),
          rankings.begin() + static_cast<std::ptrdiff_t>(std::min(rounds, rankings.size()))};
}

/// The ranker after the first rounds, of a blend its thresholded features alone; the whole ranker if it does
/// not consist of rounds.
PartOfModel first_rounds(std::size_t rounds) {
  return [rounds](const Model& model) -> SharedRanker {
    const SumRanker* sum = model.ranker->sum();
    if (sum == nullptr) return model.ranker;
    const auto& [fused, steps, values] = sum->parts();
    if (steps) return std::make_shared<SumRanker>(first_of(*steps, rounds), model.features);
    if (!fused) return model.ranker;
    SumParts parts{FusedPart{fused->k, fused->weights, first_of(fused->steps, rounds)}, {}, {}};
    return std::make_shared<SumRanker>(std::move(parts), model.features);
  };
}

SharedRanker values_of_blend(const Model& model) {
  const SumRanker* sum = model.ranker->sum();
  if (sum == nullptr || !sum->parts().values) return model.ranker;
  return std::make_shared<SumRanker>(SumParts{{}, {}, sum->parts().values}, model.features);
}

SharedRanker fused_of_blend(const Model& model) {
  const SumRanker* sum = model.ranker->sum();
  if (sum == nullptr || !sum->parts().fused) return model.ranker;
  return std::make_shared<SumRanker>(SumParts{sum->parts().fused, {}, {}}, model.features);
}

/// Collects the candidates, the safest first.
class CandidateList {
 public:
  CandidateList(const TrainingSet& set, const std::vector<Learner>& learners, double rrf_k, bool has_prior)
      : learners_(learners), k_(fmt::format("{}", rrf_k)) {
    const std::size_t lists = count_lists(set.matrix.features());
    const bool are_many = has_many_lists(set);
    const bool is_graded = set.pairs.empty();
    const bool are_rich = count_answerable(set) >= kFewestForRich;
    const bool are_few = !has_prior && lists > 0 && lists <= kFewLists && is_graded && are_rich;
    if (are_few) add_safe("reciprocal-ranks", of_rrf({{"weights", "tuned"}}), "RRF of weighted lists");
    if (lists > 0 && has_prior) add_prior(is_graded);
    if (lists > 0 && is_graded) add_blend();
    if (lists > 0 && !is_graded) {
      // Such pairs come from clicks and are balanced so that they do not reveal the order that was shown.
      add_safe("reciprocal-ranks", of_rrf({{"weights", "pairs"}}), "RRF of lists weighted by pairs");
      add_safe("reciprocal-ranks", of_rrf({{"rounds", "50"}}), "RankBoost from RRF");
    }
    if (lists > 0) add_lists(are_many, are_rich);
    if (lists == 0 || !is_graded) add_boosted(lists == 0);
    if (!are_many) add_costly(set.queries.size() <= kMostQueriesForBags, is_graded);
  }

  /// The candidates whose learners are available.
  std::vector<Candidate> take() {
    for (Candidate& each : candidates_)
      std::erase_if(each.of, [](const Option& option) { return option.learner == nullptr; });
    std::erase_if(candidates_,
                  [](const Candidate& each) { return each.learner == nullptr || each.of.empty(); });
    return std::move(candidates_);
  }

 private:
  /// The options with the k of RRF.
  GivenOptions of_rrf(GivenOptions options) const {
    options["k"] = k_;
    return options;
  }
  const Learner* find(std::string_view name) const {
    const auto at = std::ranges::find(learners_, name, &Learner::name);
    return at == learners_.end() ? nullptr : &*at;
  }

  /// Adds a candidate whose trial options are also its final options.
  Option* add(std::string_view learner, const GivenOptions& options, const std::string& name) {
    const Learner* row = find(learner);
    candidates_.push_back({row, options, {{name, row, options, {}, false, false, false}}, false});
    return &candidates_.back().of.front();
  }
  /// The same for a safe candidate, which is also compared when few queries are judged.
  void add_safe(std::string_view learner, const GivenOptions& options, const std::string& name) {
    add(learner, options, name)->is_safe = true;
    candidates_.back().of.front().is_for_few = true;
  }
  /// Adds one more option that is measured by the trials of the last candidate.
  Option* also(const std::string& name, std::string_view learner, const GivenOptions& options,
               PartOfModel part) {
    candidates_.back().of.push_back({name, find(learner), options, std::move(part), false, false, false});
    return &candidates_.back().of.back();
  }
  void also_after(const std::string& name, std::string_view learner, GivenOptions options,
                  std::initializer_list<std::size_t> rounds) {
    for (const std::size_t count : rounds) {
      options["rounds"] = std::to_string(count);
      also(fmt::format("{}, {} rounds", name, count), learner, options, first_rounds(count));
    }
  }
  void add_after(const std::string& name, const GivenOptions& options,
                 std::initializer_list<std::size_t> rounds) {
    GivenOptions all = options;
    all["rounds"] = std::to_string(std::max(rounds));
    candidates_.push_back({find("rankboost"), std::move(all), {}, false});
    also_after(name, "rankboost", options, rounds);
  }

  /// What other domains have learned, alone and with the rounds of the own queries.
  void add_prior(bool is_graded) {
    if (is_graded) add_from_prior("rankboost-blend", {}, "blend of RankBoosts and other domains");
    add_from_prior("reciprocal-ranks", {}, "other domains");
  }
  void add_from_prior(std::string_view learner, const GivenOptions& options, const std::string& name) {
    add_safe(learner, options, name);
    candidates_.back().is_from_prior = candidates_.back().of.front().is_from_prior = true;
  }

  /// The trials of the blend also measure each RankBoost in it.
  void add_blend() {
    add_safe("rankboost-blend", of_rrf({}), "blend of RankBoosts and RRF");
    also("RankBoost from RRF", "reciprocal-ranks", of_rrf({{"rounds", "50"}}), fused_of_blend);
    also_after("RankBoost 3.cum", "rankboost", {}, {20, 50, 100});
    also("RankBoost of values", "rankboost", {{"rounds", "50"}, {"weak-ranking", "value"}}, values_of_blend);
  }

  void add_lists(bool are_many, bool are_queries_many) {
    add_safe("reciprocal-ranks", of_rrf({}), kRrfCandidate);
    add("reciprocal-ranks", {{"weights", "best"}}, "best list")->is_bold = true;
    // Both options share the tuning of the weights.
    const GivenOptions tuned = {{"weights", "tuned"}, {"k-by", "training"}, {"rounds", "50"}};
    add("reciprocal-ranks", tuned, "RankBoost from tuned weights");
    GivenOptions without = tuned;
    without["rounds"] = "0";
    also("tuned weights", "reciprocal-ranks", without, first_rounds(0));
    for (Option& each : candidates_.back().of) each.is_for_few = are_many;
    candidates_.back().is_costly = !are_many || are_queries_many;
  }

  void add_boosted(bool is_safe) {
    add_after("RankBoost 3.cum", {}, {20, 50, 100});
    for (Option& each : candidates_.back().of) each.is_safe = is_safe;
    add("rankboost", {{"rounds", "50"}, {"weak-ranking", "value"}}, "RankBoost of values");
  }

  void add_costly(bool are_bags_cheap, bool is_graded) {
    add_after("RankBoost 2.cum", {{"weak-learner", "2.cum"}}, {20, 50});
    candidates_.back().is_costly = true;
    if (!are_bags_cheap) return;
    add_bags("rankboost-bagged", {{"rounds", "50"}, {"bags", "10"}}, "bagged RankBoost", "3");
    if (is_graded) add_bags("monotone-trees", {{"bags", "3"}, {"tree-depth", "2"}}, "monotone trees", "1");
  }
  /// Adds a candidate whose trial has fewer bags than the final training.
  void add_bags(std::string_view learner, const GivenOptions& options, const std::string& name,
                const std::string& trial_bags) {
    add(learner, options, name);
    candidates_.back().options["bags"] = trial_bags;
    candidates_.back().is_costly = true;
  }

  const std::vector<Learner>& learners_;
  const std::string k_;
  std::vector<Candidate> candidates_;
};

}  // namespace

bool has_many_lists(const TrainingSet& set) {
  return count_lists(set.matrix.features()) > kManyLists;
}

std::vector<Candidate> auto_candidates(const TrainingSet& set, const std::vector<Learner>& learners,
                                       double rrf_k, bool has_prior) {
  return CandidateList(set, learners, rrf_k, has_prior).take();
}

}  // namespace metafuse::fusion
