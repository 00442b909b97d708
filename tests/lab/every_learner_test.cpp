// What every learner of the table does with the feedback and with its own options: nothing that a user can
// give is accepted without effect.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "lab/registry.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

using Given = std::map<std::string, std::string>;

constexpr int kDraws = 60;  // an option may act on some data only

/// Queries of eight documents in four lists, each of which follows the grades a little. Some documents have
/// no judgment. Every third draw has two queries only, and is clear: its first list reverses no pair.
TrainingSet drawn_set(std::uint64_t seed, FeatureKind kind) {
  const bool is_clear = seed % 3 == 2;
  Random random(seed);
  std::vector<Feature> features;
  for (int f = 0; f < 4; ++f) features.push_back({fmt::format("f{}", f), kind, 0});
  TrainingSetBuilder builder;
  for (int q = 0; q < (is_clear ? 2 : 10); ++q)
    for (int d = 0; d < 8; ++d) {
      const auto grade = static_cast<double>(random.below(3));
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < 4; ++f) {
        const auto noise = static_cast<double>(random.below(9));
        if (f == 0 && is_clear)
          cells.push_back({f, 3.0 * grade - 7.0});
        else if (random.below(4) != 0)
          cells.push_back({f, grade - 4.0 - noise});
      }
      builder.add({fmt::format("q{}", 10 + q), fmt::format("d{}", d), grade, random.below(4) != 0, cells});
    }
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  for (QueryRange& query : set->queries) query.weight = static_cast<double>(1 + random.below(4));
  return std::move(*set);
}

/// Options with which a learner trains quickly.
Given quick(const std::string& learner) {
  if (learner == "calibrated-adaboost")
    return {{"leaves", "3"}, {"terms", "2"}, {"rounds", "5"}, {"process-points", "20"}};
  if (learner == "adaboost-mh" || learner == "rankboost-plus" || learner == "mpboost")
    return {{"rounds", "5"}};
  if (learner == "oap-bpm" || learner == "oap-bagg" || learner == "oap-vp") return {{"rankers", "5"}};
  if (learner == "monotone-trees" || learner == "rankboost-bagged") return {{"rounds", "5"}, {"bags", "2"}};
  if (learner == "reciprocal-ranks") return {{"rounds", "20"}};  // without, it learns nothing
  if (learner == "rankboost-blend") return {{"rounds", "6"}, {"value-rounds", "4"}, {"fused-rounds", "4"}};
  return {};
}

Result<TrainingResult> train_on(const Learner& learner, const TrainingSet& set, const Given& options) {
  TrainingRequest request;
  request.train = &set;
  request.options = options;
  return learner.train(request);
}

/// What a training has learned: the ranker and, for learners that choose or limit, what they recorded.
std::string learned(const TrainingResult& result) {
  std::string text = to_text(result.model.ranker->body());
  if (const Json* choice = result.model.training.if_contains("auto")) text += to_text(*choice);
  return text;
}

/// Whether a change of the set changes what is learned, or is refused as a wrong use.
template <class Change>
bool acts_or_is_refused(const Learner& learner, Change change) {
  for (int draw = 0; draw < kDraws; ++draw) {
    const TrainingSet before = drawn_set(static_cast<std::uint64_t>(draw), FeatureKind::rank);
    TrainingSet after = before;
    change(after);
    const auto changed = train_on(learner, after, quick(learner.name));
    if (!changed && changed.error().code == Code::usage) return true;
    const auto plain = train_on(learner, before, quick(learner.name));
    REQUIRE(plain.has_value());
    if (changed && learned(*changed) != learned(*plain)) return true;
  }
  return false;
}

struct FeedbackChange {
  std::string_view option;
  void (*apply)(TrainingSet&);
};

const std::vector<FeedbackChange> kChanges = {
    {"--unjudged", [](TrainingSet& set) { set.in_feedback.assign(set.grades.size(), 1); }},
    {"--feedback bipartite", [](TrainingSet& set) { set.feedback.is_bipartite = true; }},
    {"--query-weights equal",
     [](TrainingSet& set) { set.feedback.query_weights = FeedbackOptions::QueryWeights::equal; }},
    {"--query-weights FILE",
     [](TrainingSet& set) {
       set.feedback.query_weights = FeedbackOptions::QueryWeights::equal;
       double weight = 1.0;
       for (QueryRange& query : set.queries) query.weight = weight++;
     }},
    {"--grade-weights gain",
     [](TrainingSet& set) { set.feedback.grade_weights = FeedbackOptions::GradeWeights::gain; }},
    {"--pairs",
     [](TrainingSet& set) {
       for (const QueryRange& query : set.queries)
         set.pairs.push_back(
             {static_cast<std::uint32_t>(query.begin), static_cast<std::uint32_t>(query.begin + 1), 3.0});
     }},
};

/// An option that acts only beside another one.
const std::map<std::string, Given> kBeside = {
    {"slack", {{"update", "romma"}}},        {"degree", {{"kernel", "polynomial"}}},
    {"max-map", {{"kernel", "polynomial"}}}, {"budget", {{"kernel", "polynomial"}, {"max-map", "0"}}},
    {"terms", {{"base", "product"}}},        {"alpha", {{"rounds", "30"}}},
    {"stop-when-flat", {{"rounds", "60"}}},
};

Given beside(const std::string& learner, const std::string& option) {
  Given given = quick(learner);
  if (learner == "rankboost-plus" && option == "undefined-alpha") given["form"] = "rb-d";
  if (learner == "rankboost-plus" && option == "prune") given["rounds"] = "40";
  if (learner == "calibrated-adaboost" && option == "terms") return given;
  if (const auto at = kBeside.find(option); at != kBeside.end())
    for (const auto& [name, value] : at->second) given[name] = value;
  return given;
}

/// Values worth trying for an option: its other choices, or numbers, some of which may be out of range.
std::vector<std::string> values_to_try(const LearnerOption& option, const std::string& file) {
  if (option.name == "thresholds") return {file};
  if (option.name == "grades") return {"0,1,2,3"};
  if (option.name == "others") return {"mpboost"};
  if (option.values == "LIST") return {"2", "4"};
  if (option.values.find('|') == std::string::npos || option.values.starts_with("N|"))
    return {"2", "1", "7", "3", "0.5", "0.05", "10", "0"};
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= option.values.size();) {
    const std::size_t end = std::min(option.values.find('|', begin), option.values.size());
    const std::string value = option.values.substr(begin, end - begin);
    if (value != option.fallback && value.find(':') == std::string::npos) out.push_back(value);
    begin = end + 1;
  }
  return out;
}

/// Whether a value of the option changes what is learned, or is refused by a learner that cannot follow it.
bool acts(const Learner& learner, const LearnerOption& option, const std::string& file) {
  for (int draw = 0; draw < kDraws; ++draw) {
    const FeatureKind kind = draw % 2 == 0 ? FeatureKind::rank : FeatureKind::value;
    const TrainingSet set = drawn_set(static_cast<std::uint64_t>(draw), kind);
    const Given given = beside(learner.name, option.name);
    const auto plain = train_on(learner, set, given);
    if (!plain) continue;  // reciprocal ranks need lists
    for (const std::string& value : values_to_try(option, file)) {
      Given changed = given;
      changed[option.name] = value;
      const auto result = train_on(learner, set, changed);
      const bool is_choice = option.values.find('|') != std::string::npos && !option.values.starts_with("N|");
      if (!result && is_choice && result.error().code == Code::usage) return true;
      if (result && learned(*result) != learned(*plain)) return true;
    }
  }
  return false;
}

/// Forms of feedback that are the same to a learner by its definition.
bool is_indifferent(const std::string& learner, std::string_view change) {
  return learner == "random-guessing" ||                                        // learns nothing
         (learner == "adaboost-ordering" && change == "--feedback bipartite");  // two classes in any case
}

/// Options that limit or measure a training, and say so in their meaning.
bool is_about_cost(const std::string& learner, const std::string& option) {
  return option == "memory" || (learner == "rankboost-plus" && option == "losses");
}

}  // namespace

TEST_CASE("Every form of feedback changes what a learner learns, or is refused", "[lab][every]") {
  for (const Learner& learner : metafuse::lab::learners())
    for (const FeedbackChange& change : kChanges) {
      if (is_indifferent(learner.name, change.option)) continue;
      INFO(learner.name << ' ' << change.option);
      CHECK(acts_or_is_refused(learner, change.apply));
    }
}

TEST_CASE("Every option of a learner changes what it learns, or is refused", "[lab][every]") {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("thresholds", "f0 -12 -9\nf1 -3\n");
  for (const Learner& learner : metafuse::lab::learners())
    for (const LearnerOption& option : learner.options) {
      if (is_about_cost(learner.name, option.name)) continue;
      INFO(learner.name << " --" << option.name);
      CHECK(acts(learner, option, file));
    }
}
