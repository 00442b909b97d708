#include "fusion/training/auto_learner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/deadline.h"
#include "core/json.h"
#include "core/random.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/features.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/rankboost/trainer.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

constexpr const char* kBlend = "blend of RankBoosts and RRF";
constexpr const char* kWeighted = "RRF of weighted lists";

/// Lists of ten documents each. List a is good: it ranks the two relevant documents first, with some noise.
/// The other lists are in random order. With `is_hopeless` all lists are.
TrainingSet queries_with_a_good_list(int queries, bool is_hopeless, double grade = 1.0,
                                     std::uint32_t lists = 4, int first_relevant = 0) {
  Random random(11);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<std::vector<double>> rank(lists);
    for (std::uint32_t f = 0; f < lists; ++f) {
      for (int d = 0; d < 10; ++d) rank[f].push_back(d + 1);
      random.shuffle(rank[f]);
      if (f > 0 || is_hopeless) continue;
      for (int d = 0; d < 10; ++d) rank[f][static_cast<std::size_t>(d)] = d + 1;
      if (q % 4 == 0) std::swap(rank[f][1], rank[f][4]);
    }
    for (int d = 0; d < 10; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < lists; ++f) cells.push_back({f, -rank[f][static_cast<std::size_t>(d)]});
      builder.add({"q" + std::to_string(1000 + q), "d" + std::to_string(d),
                   d >= first_relevant && d < first_relevant + 2 ? grade : 0.0, true, cells});
    }
  }
  std::vector<Feature> features;
  for (std::uint32_t f = 0; f < lists; ++f)
    features.push_back({std::string(1, static_cast<char>('a' + f)), FeatureKind::rank, 0});
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

/// Two lists of five documents each without a common document; the relevant ones are in the second list.
TrainingSet lists_without_overlap(int queries) {
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q)
    for (int d = 0; d < 10; ++d) {
      const Cell cell{d < 5 ? 0U : 1U, -1.0 - d % 5};
      builder.add({"q" + std::to_string(q), "d" + std::to_string(d), d == 5 || d == 6 ? 1.0 : 0.0, true,
                   std::span(&cell, 1)});
    }
  auto set = builder.finish({{"a", FeatureKind::rank, 0}, {"b", FeatureKind::rank, 0}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

/// A clock that advances by one second each time it is read.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint() + std::chrono::seconds(++ticks_); }

 private:
  mutable std::atomic<int> ticks_{0};
};

TrainingResult auto_result(const TrainingSet& set, unsigned threads = 1, const std::string& measure = {}) {
  TrainingRequest request;
  request.train = &set;
  request.threads = threads;
  request.measure.name = measure;
  auto result = find_learner("auto")->train(request);
  INFO((result ? std::string() : result.error().text));
  REQUIRE(result.has_value());
  return std::move(*result);
}

std::string chosen_of(const TrainingResult& result) {
  return std::string(result.model.training.at("auto").at("chosen").as_string());
}

Result<TrainingResult> reciprocal(const TrainingSet& set, std::map<std::string, std::string> options) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  return find_learner("reciprocal-ranks")->train(request);
}

}  // namespace

TEST_CASE("Reciprocal ranks without learning are RRF and need no judgments", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(3, false, 0.0);
  const auto result = reciprocal(set, {});
  REQUIRE(result.has_value());
  const auto scores = result->model.ranker->score(set.matrix);
  for (std::size_t row = 0; row < scores.size(); ++row) {
    double sum = 0.0;
    for (std::size_t f = 0; f < 4; ++f) sum += 1.0 / (60.0 - set.matrix.value(row, f));
    CHECK(scores[row] == Approx(sum));
    double parts = 0.0;
    for (const double part : result->model.ranker->contributions(set.matrix, row)) parts += part;
    CHECK(parts == Approx(scores[row]));
  }
}

TEST_CASE("The best list and tuned weights and a boosted prior favour the good list",
          "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(20, false);
  for (const char* weights : {"best", "tuned"}) {
    const auto result = reciprocal(set, {{"weights", weights}});
    REQUIRE(result.has_value());
    const std::vector<double>& learned = result->model.ranker->sum()->parts().fused->weights;
    for (std::size_t f = 1; f < 4; ++f) CHECK(learned[0] > learned[f]);
  }
  const auto boosted = reciprocal(set, {{"rounds", "10"}});
  REQUIRE(boosted.has_value());
  const std::string text = model_text(boosted->model);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
  CHECK(back->ranker->score(set.matrix) == boosted->model.ranker->score(set.matrix));
}

TEST_CASE("A prior of infinite weight keeps the order of RRF", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(5, false);
  const auto plain = reciprocal(set, {})->model.ranker->score(set.matrix);
  const auto shrunk =
      reciprocal(set, {{"rounds", "10"}, {"prior-pairs", "1e12"}})->model.ranker->score(set.matrix);
  for (std::size_t a = 0; a < plain.size(); ++a)
    for (std::size_t b = 0; b < plain.size(); ++b)
      if (plain[a] > plain[b] + 1e-6) CHECK(shrunk[a] > shrunk[b]);
}

TEST_CASE("Few pairs move the prior little and many move it far", "[fusion][reciprocal_ranks]") {
  const auto share = [](int queries) {
    const TrainingSet set = queries_with_a_good_list(queries, false);
    return reciprocal(set, {{"rounds", "10"}})->model.training.at("share_of_learned").to_number<double>();
  };
  // A query has 2 x 8 pairs; what p pairs teach is weighted by p^2 / (p^2 + 2000^2).
  CHECK(share(1) == Approx(16.0 * 16.0 / (16.0 * 16.0 + 2000.0 * 2000.0)));
  CHECK(share(100) == Approx(1600.0 * 1600.0 / (1600.0 * 1600.0 + 2000.0 * 2000.0)));
}

TEST_CASE("Rounds that start from a prior lower the prior's loss", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(30, false);
  const auto feedback = rankboost::make_feedback(set);
  REQUIRE(feedback.has_value());
  const auto prior = reciprocal(set, {})->model.ranker->score(set.matrix);
  const auto z_of = [&](const std::vector<double>& scores) {  // computed pair by pair
    double sum = 0.0;
    double count = 0.0;
    for (const QueryRange& query : set.queries)
      for (std::size_t above = query.begin; above < query.end; ++above)
        for (std::size_t below = query.begin; below < query.end; ++below)
          if (set.grades[above] > set.grades[below]) {
            sum += std::exp(scores[below] - scores[above]);
            ++count;
          }
    return sum / count;
  };
  const double alpha = rankboost::alpha_of_scores(*feedback, prior, 1000.0);
  CHECK(alpha > 0.0);
  std::vector<double> best = prior;
  for (double& score : best) score *= alpha;
  for (const double factor : {0.9, 1.1}) {
    std::vector<double> other = best;
    for (double& score : other) score *= factor;
    CHECK(z_of(best) < z_of(other));
  }
  const rankboost::Options options;
  const CodedFeatures features(set.matrix, options.thresholds, feedback->is_used);
  rankboost::Trainer trainer({*feedback, features, options}, best);
  for (int round = 0; round < 10; ++round) {
    const auto step = trainer.step();
    REQUIRE(step.has_value());
    CHECK(std::exp(step->log_bound) == Approx(z_of(trainer.scores())));
  }
}

TEST_CASE("Learner auto keeps RRF if nothing can be learned and leaves it if a list is better",
          "[fusion][auto]") {
  const std::string kept = chosen_of(auto_result(queries_with_a_good_list(12, true)));
  CHECK((kept == "RRF" || kept == kBlend));
  const TrainingSet set = queries_with_a_good_list(40, false);
  const TrainingResult result = auto_result(set);
  CHECK(chosen_of(result) != "RRF");
  const JsonObject& record = result.model.training.at("auto").as_object();
  CHECK(record.at("measured_queries").to_number<int>() == 40);
  double rrf = 0.0;
  double chosen = 0.0;
  for (const Json& row : record.at("among").as_array()) {
    if (row.at("name") == "RRF") rrf = row.at("value").to_number<double>();
    if (row.at("name") == record.at("chosen")) chosen = row.at("value").to_number<double>();
  }
  CHECK(chosen > rrf + 0.2);
  CHECK(result.summary.find("auto chose " + chosen_of(result)) != std::string::npos);
}

TEST_CASE("With a dozen lists or fewer auto compares all with weighted lists", "[fusion][auto]") {
  const TrainingResult result = auto_result(queries_with_a_good_list(40, false, 1.0, 12));
  CHECK(result.model.training.at("auto").at("among").as_array().front().at("name") == kWeighted);
  // below twenty queries, and with more lists, they are no candidate
  for (const TrainingSet& set :
       {queries_with_a_good_list(19, false, 1.0, 12), queries_with_a_good_list(40, false, 1.0, 13)}) {
    const TrainingResult other = auto_result(set);
    for (const Json& row : other.model.training.at("auto").at("among").as_array())
      CHECK(row.at("name") != kWeighted);
  }
}

TEST_CASE("The k of RRF is that of every candidate that starts from RRF", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(3, true, 0.0);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"k", "7"}};
  const auto result = find_learner("auto")->train(request);
  REQUIRE(result.has_value());
  const auto plain = reciprocal(set, {{"k", "7"}});
  REQUIRE(plain.has_value());
  const auto order_of = [&](const Model& model) {
    auto scores = model.ranker->score(set.matrix);
    scores.resize(10);  // of the first query
    return fused_order(set.matrix, 0, 10, scores, set.documents);
  };
  CHECK(order_of(result->model) == order_of(plain->model));
}

TEST_CASE("With many lists auto tunes weights from a handful of queries on", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(12, false, 1.0, 36);
  const TrainingResult result = auto_result(set);
  CHECK(chosen_of(result).find("tuned weights") != std::string::npos);
  const auto names_of = [](const TrainingResult& trained) {
    std::vector<std::string> names;
    for (const Json& row : trained.model.training.at("auto").at("among").as_array())
      names.emplace_back(row.as_object().at("name").as_string());
    return names;
  };
  const std::vector<std::string> expected = {kBlend, "RRF", "RankBoost from tuned weights", "tuned weights"};
  CHECK(names_of(result) == expected);
  // Candidates that are tried only with few lists.
  for (const std::string& name : names_of(auto_result(queries_with_a_good_list(24, false, 1.0, 36)))) {
    CHECK(name.find("bagged") == std::string::npos);
    CHECK(name.find("trees") == std::string::npos);
  }
}

TEST_CASE("The pairs of one query count for at most pairs-of-query", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(2, false);
  const auto result = reciprocal(set, {{"rounds", "5"}, {"pairs-of-query", "3"}, {"prior-pairs", "8"}});
  REQUIRE(result.has_value());
  CHECK(result->model.training.at("share_of_learned").to_number<double>() == Approx(36.0 / (36.0 + 64.0)));
}

TEST_CASE("Each base query counts for its own pairs, up to pairs-of-query in all its searches",
          "[fusion][reciprocal_ranks]") {
  TrainingSet set = queries_with_a_good_list(3, false, 0.0);
  set.queries[0].id = "clicked a#1";
  set.queries[1].id = "clicked b#1";
  set.queries[2].id = "clicked b#2";
  const auto share = [&] {
    const auto result = reciprocal(set, {{"rounds", "5"}, {"pairs-of-query", "3"}, {"prior-pairs", "8"}});
    REQUIRE(result.has_value());
    return result->model.training.at("share_of_learned").to_number<double>();
  };
  set.pairs = {{1, 0, 1.0}};  // one pair of a; those of b follow
  for (std::uint32_t query : {1U, 2U})
    for (std::uint32_t below = 5; below < 10; ++below)
      set.pairs.push_back({10 * query + below, 10 * query, 1.0});
  CHECK(share() == Approx(16.0 / (16.0 + 64.0)));  // 1 + 3 pairs
}

TEST_CASE("With given pairs auto learns beside RRF", "[fusion][auto]") {
  TrainingSet set = queries_with_a_good_list(30, false);
  for (const QueryRange& query : set.queries)
    for (std::size_t above = query.begin; above < query.end; ++above)
      for (std::size_t below = query.begin; below < query.end; ++below)
        if (set.grades[above] > set.grades[below])
          set.pairs.push_back({static_cast<std::uint32_t>(below), static_cast<std::uint32_t>(above), 1.0});
  std::sort(set.pairs.begin(), set.pairs.end(), [](const auto& a, const auto& b) {
    return a.below != b.below ? a.below < b.below : a.above < b.above;
  });
  std::fill(set.grades.begin(), set.grades.end(), 0.0);
  CHECK(chosen_of(auto_result(set)) == "RRF of lists weighted by pairs");
}

TEST_CASE("The k of reciprocal ranks is one that fuses the training queries best",
          "[fusion][reciprocal_ranks]") {
  const auto k_of = [](const TrainingSet& set, const char* by) {
    const auto result = reciprocal(set, {{"weights", "tuned"}, {"k-by", by}});
    REQUIRE(result.has_value());
    return result->model.training.at("k").to_number<double>();
  };
  const TrainingSet set = queries_with_a_good_list(20, false);
  CHECK(k_of(set, "given") == 60.0);
  const double chosen = k_of(set, "training");
  CHECK((chosen == 5.0 || chosen == 10.0 || chosen == 20.0 || chosen == 40.0));
  // Without a relevant document there is nothing to choose k by.
  const auto none = reciprocal(queries_with_a_good_list(3, false, 0.0), {{"k-by", "training"}});
  REQUIRE(none.has_value());
  CHECK(none->model.training.at("k").to_number<double>() == 60.0);
}

TEST_CASE("Learner auto trains if all grades are equal or only one query is informative", "[fusion][auto]") {
  TrainingSet set = queries_with_a_good_list(5, false);
  std::fill(set.grades.begin(), set.grades.end(), 1.0);
  CHECK(chosen_of(auto_result(set)) == "RRF");
  TrainingSet half = queries_with_a_good_list(2, false);
  std::fill(half.grades.begin(), half.grades.begin() + 10, 0.0);
  CHECK(chosen_of(auto_result(half)) == kBlend);
}

TEST_CASE("The model of auto is the same for any number of threads and survives its file", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(15, false);
  const std::string text = model_text(auto_result(set).model);
  CHECK(model_text(auto_result(set, 3).model) == text);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
}

TEST_CASE("Costly candidates that are behind on the first part are dropped", "[fusion][auto]") {
  const TrainingSet set = lists_without_overlap(40);  // the blend is perfect: none can be ahead
  const TrainingResult result = auto_result(set);
  CHECK(model_text(auto_result(set, 3).model) == model_text(result.model));
  std::map<std::string, std::string> left_out;
  std::set<std::string> names;
  for (const Json& row : result.model.training.at("auto").at("among").as_array()) {
    names.emplace(row.at("name").as_string());
    if (const Json* why = row.as_object().if_contains("left_out"))
      left_out[std::string(row.at("name").as_string())] = std::string(why->as_string());
  }
  for (const char* name : {"RRF", "best list", "RankBoost from RRF", "RankBoost 3.cum, 20 rounds",
                           "RankBoost 3.cum, 100 rounds", "RankBoost of values"}) {
    CHECK(names.count(name) == 1);
    CHECK(left_out.count(name) == 0);
  }
  for (const char* name : {"RankBoost 2.cum, 20 rounds", "RankBoost 2.cum, 50 rounds", "bagged RankBoost",
                           "monotone trees", "tuned weights", "RankBoost from tuned weights"})
    CHECK(left_out[name] == "behind on the first part of the queries");
  CHECK(left_out.size() == 6);
  CHECK(chosen_of(result) == kWeighted);  // as good, and simpler
}

TEST_CASE("After its time limit auto takes the choice that needs no comparison", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(40, false);
  const TickingClock clock;
  TrainingRequest request;
  request.train = &set;
  request.limit.clock = &clock;
  request.limit.seconds = 4.0;
  const auto result = find_learner("auto")->train(request);
  REQUIRE(result.has_value());
  CHECK(chosen_of(*result) == kWeighted);
  bool is_left_out = false;
  for (const Json& row : result->model.training.at("auto").at("among").as_array())
    if (const Json* why = row.as_object().if_contains("left_out"))
      is_left_out = is_left_out || why->as_string().find("time limit") != std::string::npos;
  CHECK(is_left_out);
  // A limit that is never reached changes nothing.
  request.limit.seconds = 1e9;
  CHECK(model_text(find_learner("auto")->train(request)->model) == model_text(auto_result(set).model));
}

TEST_CASE("Learner auto says why it kept a candidate although another has a better mean", "[fusion][auto]") {
  // Six queries cannot tell the blend from RRF. Some seed gives RRF the better mean.
  std::string summary;
  JsonObject choice;
  for (std::uint64_t seed = 1; seed < 40 && !choice.contains("lead"); ++seed) {
    TrainingRequest request;
    const TrainingSet set = queries_with_a_good_list(6, true);
    request.train = &set;
    request.seed = seed;
    const auto result = find_learner("auto")->train(request);
    REQUIRE(result.has_value());
    summary = result->summary;
    choice = brief_choice(result->model.training);
    if (!choice.contains("lead")) continue;
    const JsonObject& lead = choice.at("lead").as_object();
    CHECK(choice.at("rrf").to_number<double>() - choice.at("value").to_number<double>() ==
          Approx(lead.at("by").to_number<double>()));
    CHECK(lead.at("by").to_number<double>() <= lead.at("error").to_number<double>());
    CHECK(summary.find("RRF's lead of 0.") != std::string::npos);
    CHECK(summary.find("auto kept " + chosen_of(*result)) == 0);
    CHECK(brief_choice_text(result->model.training).find("within the error of") != std::string::npos);
  }
  CHECK(choice.contains("lead"));
}

TEST_CASE("A choice is summarised briefly", "[fusion][auto]") {
  const TrainingResult result = auto_result(queries_with_a_good_list(40, false));
  const JsonObject choice = brief_choice(result.model.training);
  CHECK(choice.at("chosen") == Json(chosen_of(result)));
  CHECK(choice.at("queries").to_number<int>() == 40);
  CHECK(choice.at("value").to_number<double>() > choice.at("rrf").to_number<double>());
  CHECK(brief_choice_text(result.model.training).find(", RRF 0.") != std::string::npos);
  CHECK(brief_choice({}).empty());
  CHECK_FALSE(choice.contains("lead"));
  for (const char* hostile :
       {R"({"auto":1})", R"({"auto":{"chosen":1}})", R"({"auto":{"chosen":"x","among":1}})",
        R"({"auto":{"chosen":"x","measured_queries":-1,"among":[1,{"name":"x"}]}})"})
    CHECK(brief_choice(parse_json(hostile, "t")->as_object()).size() != 1);
  const auto huge = parse_json(R"({"auto":{"chosen":"x","measured_queries":1e300}})", "t");
  CHECK(brief_choice(huge->as_object()).at("queries").to_number<std::uint64_t>() == std::uint64_t{1} << 53);
}

TEST_CASE("Learner auto works with one query or one list or no relevant document", "[fusion][auto]") {
  CHECK(chosen_of(auto_result(queries_with_a_good_list(1, false))) == kBlend);
  CHECK(chosen_of(auto_result(queries_with_a_good_list(6, false, 0.0))) == "RRF");
  auto_result(queries_with_a_good_list(6, false, 1.0, 1));  // one list
  auto_result(lists_without_overlap(6));
  const TrainingSet none = queries_with_a_good_list(0, false);
  CHECK(chosen_of(auto_result(none)) == "RRF");
}

TEST_CASE("Learner auto uses the requested measure and refuses an unknown one", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(6, false);
  const TrainingResult result = auto_result(set, 1, "ndcg_cut_5");
  CHECK(result.model.training.at("auto").at("measure") == "ndcg_cut_5");
  TrainingRequest request;
  request.train = &set;
  request.measure.name = "nothing";
  CHECK(find_learner("auto")->train(request).error().code == Code::usage);
}

TEST_CASE("Learner auto chooses by the validation data if there are any", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(20, false);
  const TrainingSet other = queries_with_a_good_list(30, false, 1.0, 4, 8);
  TrainingRequest request;
  request.train = &set;
  request.validate = &other;
  const auto result = find_learner("auto")->train(request);
  REQUIRE(result.has_value());
  CHECK(result->model.training.at("auto").at("measured_queries").to_number<int>() == 30);
  // The list that was good in training is the worst there, so no candidate that trusts it is chosen.
  const std::string chosen = chosen_of(*result);
  CHECK(chosen == "RRF");
}

TEST_CASE("No candidate of auto is measured on a base query that it was trained on", "[fusion][auto]") {
  TrainingSet set = queries_with_a_good_list(24, false);
  for (std::size_t q = 0; q < set.queries.size(); ++q)  // a judged row and two searches for each base query
    set.queries[q].id = q < 8 ? "judged b" + std::to_string(q)
                              : "clicked b" + std::to_string((q - 8) / 2) + "#" + std::to_string(q);
  std::map<std::string_view, std::size_t> rows_of;
  for (const QueryRange& query : set.queries) ++rows_of[base_query_of(query.id)];
  std::vector<Learner> learners(product_learners().begin(), product_learners().end());
  std::size_t trainings = 0;
  for (Learner& learner : learners)
    learner.train = [&, real = learner.train](const TrainingRequest& request) {
      std::map<std::string_view, std::size_t> seen;
      for (const QueryRange& query : request.train->queries) ++seen[base_query_of(query.id)];
      for (const auto& [base, rows] : seen) CHECK(rows == rows_of.at(base));
      trainings += seen.size() < rows_of.size() ? 1 : 0;
      return real(request);
    };
  TrainingRequest request;
  request.train = &set;
  CHECK(auto_learner(learners).train(request).has_value());
  CHECK(trainings > 0);
}

TEST_CASE("Searches of one base query count once for what auto compares", "[fusion][auto]") {
  TrainingSet set = queries_with_a_good_list(24, false);
  CHECK(auto_result(set).model.training.at("auto").at("among").as_array().size() > 2);
  for (std::size_t q = 0; q < set.queries.size(); ++q)
    set.queries[q].id = "b" + std::to_string(10 + q / 2) + "#" + std::to_string(q);
  const JsonObject record = auto_result(set).model.training.at("auto").as_object();
  CHECK(record.at("measured_queries").to_number<int>() == 24);
  CHECK(record.at("folds").to_number<int>() == 5);  // two from twenty base queries on
  REQUIRE(record.at("among").as_array().size() == 2);
  CHECK(record.at("among").at(0).at("name") == kBlend);
  CHECK(record.at("among").at(1).at("name") == "RRF");
}
