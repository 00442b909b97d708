// Things that must not change a model, such as threads, order of the input and checkpoints; and properties of
// every model, such as bounds and exact sums.

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "fusion/input/training_set_builder.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/learners/rankboost/weak_learner_3.h"
#include "fusion/model/fuse.h"
#include "fusion/model/model_file.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace metafuse;
using namespace metafuse::fusion;

using LearnerOptions = std::map<std::string, std::string>;

Result<TrainingResult> train(const TrainingSet& set, const LearnerOptions& options, unsigned threads = 1) {
  TrainingRequest request;
  request.train = &set;
  request.options = options;
  request.threads = threads;
  return find_learner("rankboost")->train(request);
}

std::string text_of(const TrainingSet& set, const LearnerOptions& options, unsigned threads = 1) {
  const auto result = train(set, options, threads);
  return result ? model_text(result->model) : result.error().text;
}

/// Rows as a reader would give them, so that tests can change and reorder them.
struct Row {
  std::string query;
  std::string document;
  double grade;
  bool is_in_feedback;
  std::vector<Cell> cells;
};

std::vector<Row> rows_of(const TrainingSet& set) {
  std::vector<Row> rows;
  for (const QueryRange& query : set.queries)
    for (std::size_t row = query.begin; row < query.end; ++row) {
      Row out{query.id, std::string(set.documents[row]), set.grades[row], set.in_feedback[row] != 0, {}};
      for (std::uint32_t f = 0; f < set.matrix.feature_count(); ++f)
        if (!set.matrix.is_unranked(row, f)) out.cells.push_back({f, set.matrix.value(row, f)});
      rows.push_back(std::move(out));
    }
  return rows;
}

TrainingSet reordered_set_of(const std::vector<Row>& rows, std::vector<Feature> features,
                             const FeedbackOptions& feedback) {
  TrainingSetBuilder builder;
  for (const Row& row : rows)
    builder.add({row.query, row.document, row.grade, row.is_in_feedback, row.cells});
  return *builder.finish(std::move(features), feedback);
}

/// A set whose query weights follow from the options; no query has its own weight.
TrainingSet plain_set(Random& random, std::size_t queries = 6, std::size_t documents = 20) {
  auto set = test::random_training_set(random, {queries, documents, 5, false, true});
  for (QueryRange& query : set.queries) query.weight = 1.0;
  return set;
}

const LearnerOptions kForms[] = {{{"rounds", "20"}},
                                 {{"rounds", "20"}, {"weak-learner", "3"}, {"q-default", "learn"}},
                                 {{"rounds", "20"}, {"weak-learner", "2.cum"}, {"q-default", "learn"}},
                                 {{"rounds", "20"}, {"alpha", "numeric"}}};

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("A model has the same bytes for any number of threads", "[fusion][rankboost]") {
  Random random(11);
  for (int i = 0; i < 2; ++i) {
    const TrainingSet set = plain_set(random, 40, 200);
    for (const LearnerOptions& form : kForms) REQUIRE(text_of(set, form, 1) == text_of(set, form, 2));
  }
}

TEST_CASE("A model has the same bytes for any order of queries and documents in the input",
          "[fusion][rankboost]") {
  Random random(12);
  for (int i = 0; i < 20; ++i) {
    const TrainingSet set = plain_set(random);
    std::vector<Row> rows = rows_of(set);
    random.shuffle(rows);
    const TrainingSet shuffled = reordered_set_of(rows, set.matrix.features(), set.feedback);
    for (const LearnerOptions& form : kForms) REQUIRE(text_of(set, form) == text_of(shuffled, form));
  }
}

TEST_CASE("A monotone map of a feature changes only the thresholds", "[fusion][rankboost]") {
  Random random(13);
  int trained = 0;
  for (int i = 0; i < 20; ++i) {
    TrainingSet set = plain_set(random);
    std::vector<Feature> features = set.matrix.features();
    for (Feature& feature : features) feature.kind = FeatureKind::value;
    std::vector<Row> rows = rows_of(set);
    set = reordered_set_of(rows, features, set.feedback);
    for (Row& row : rows)
      for (Cell& cell : row.cells) cell.value = std::exp(cell.value) + 3.0;
    const TrainingSet mapped = reordered_set_of(rows, features, set.feedback);
    const auto before = train(set, kForms[0]);
    const auto after = train(mapped, kForms[0]);
    REQUIRE(before.has_value() == after.has_value());
    if (!before) continue;
    ++trained;
    REQUIRE(before->model.ranker->score(set.matrix) == after->model.ranker->score(mapped.matrix));
  }
  CHECK(trained >= 15);
}

TEST_CASE("A duplicate feature or one without documents changes no score", "[fusion][rankboost]") {
  Random random(14);
  int trained = 0;
  for (int i = 0; i < 20; ++i) {
    const TrainingSet set = plain_set(random);
    std::vector<Feature> features = set.matrix.features();
    const auto twin = static_cast<std::uint32_t>(features.size());
    features.push_back({"twin", features[0].kind, features[0].depth});
    features.push_back({"empty", FeatureKind::rank, 0});
    std::vector<Row> rows = rows_of(set);
    for (Row& row : rows)
      if (!row.cells.empty() && row.cells[0].feature == 0) row.cells.push_back({twin, row.cells[0].value});
    const TrainingSet wider = reordered_set_of(rows, features, set.feedback);
    const auto before = train(set, kForms[0]);
    const auto after = train(wider, kForms[0]);
    REQUIRE(before.has_value() == after.has_value());
    if (!before) continue;
    ++trained;
    REQUIRE(before->model.ranker->score(set.matrix) == after->model.ranker->score(wider.matrix));
  }
  CHECK(trained >= 15);
}

TEST_CASE("Duplicating all queries changes no alpha", "[fusion][rankboost]") {
  Random random(15);
  int trained = 0;
  for (int i = 0; i < 20; ++i) {
    const TrainingSet set = plain_set(random);
    std::vector<Row> rows = rows_of(set);
    const std::size_t count = rows.size();
    for (std::size_t k = 0; k < count; ++k) {
      rows.push_back(rows[k]);
      rows.back().query += "-again";
    }
    // The smoothing of perfect weak rankings depends on the number of pairs, so such inputs are skipped.
    const auto before = train(set, kForms[0]);
    const auto after = train(reordered_set_of(rows, set.matrix.features(), set.feedback), kForms[0]);
    REQUIRE(before.has_value() == after.has_value());
    if (!before || before->trace.empty()) continue;
    ++trained;
    const std::size_t rounds = std::min(before->trace.size(), after->trace.size());
    for (std::size_t t = 0; t < rounds; ++t) {
      const double r = before->trace[t].at("r").to_number<double>();
      if (std::abs(r) > 1.0 - 1e-9 || std::abs(r) < 1e-6) break;
      REQUIRE(after->trace[t].at("alpha").to_number<double>() ==
              Approx(before->trace[t].at("alpha").to_number<double>()).epsilon(1e-9));
    }
  }
  CHECK(trained >= 10);
}

TEST_CASE("Ten thousand rounds stay finite and within the bound and agree with the pairs",
          "[fusion][rankboost]") {
  Random random(16);
  const TrainingSet set = plain_set(random, 6, 15);
  const auto result = train(set, {{"rounds", "10000"}, {"weak-learner", "3"}, {"q-default", "learn"}});
  REQUIRE(result.has_value());
  double bound = 1.0;
  for (const JsonObject& line : result->trace) {
    REQUIRE(std::isfinite(line.at("alpha").to_number<double>()));
    bound *= line.at("z").to_number<double>();
    REQUIRE(line.at("bound").to_number<double>() == Approx(bound).epsilon(1e-9));
    REQUIRE(line.at("ranking_loss").to_number<double>() <= bound + 1e-9);
  }
}

TEST_CASE("Cumulative weights stay positive with .cum", "[fusion][rankboost]") {
  Random random(17);
  int trained = 0;
  for (int i = 0; i < 20; ++i) {
    const TrainingSet set = plain_set(random);
    for (const char* learner : {"2.cum", "3.cum"}) {
      const auto result = train(set, {{"rounds", "50"}, {"weak-learner", learner}, {"q-default", "learn"}});
      if (!result) continue;
      ++trained;
      std::map<std::tuple<std::uint32_t, double, double>, double> weights;
      for (const WeakRanking& h : *result->model.ranker->sum()->rankings()) {
        double& weight = weights[{h.feature, h.threshold, h.q_default}];
        weight += h.alpha;
        REQUIRE(weight > 0.0);
      }
    }
  }
  CHECK(trained >= 30);
}

// The only weak ranking with an edge orders the one pair wrongly: its alpha is negative.
TEST_CASE("Weak learner 3.cum takes no alpha that would make a cumulative weight negative",
          "[fusion][rankboost]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 2);
  set.matrix.set(0, 0, 1.0);
  set.matrix.set(1, 0, 2.0);
  set.queries = {{"q", 0, 2, 1.0}};
  set.grades = {1.0, 0.0};
  set.documents = {"a", "b"};
  set.in_feedback = {1, 1};
  const auto feedback = rankboost::make_feedback(set);
  REQUIRE(feedback.has_value());
  const CodedFeatures features(set.matrix, {ThresholdOptions::kAll});
  rankboost::Distribution distribution(*feedback, 1);
  distribution.anchor(std::vector<double>(2, 0.0), 0.0);
  const rankboost::Options options;  // 3.cum
  const auto alpha = [](const rankboost::Candidate&) { return -0.5; };
  for (const double so_far : {0.0, 0.25, 0.5, 0.75}) {
    INFO("cumulative weight " << so_far);
    rankboost::CumulativeWeights weights(features);
    weights.at(0, 1, 0) = so_far;  // f > 1
    rankboost::WeakLearner3 learner({*feedback, features, options}, distribution);
    const auto chosen = learner.find(distribution, weights, alpha);
    REQUIRE(chosen.has_value() == (so_far > 0.5));
    if (chosen) CHECK(chosen->r == Approx(-1.0));
  }
}

TEST_CASE("A run that is resumed from a checkpoint gives the same bytes", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  Random random(18);
  TrainingSet set = plain_set(random, 20, 40);
  for (auto first = train(set, kForms[0]); !first || first->trace.size() < 10; first = train(set, kForms[0]))
    set = plain_set(random, 20, 40);
  for (const LearnerOptions& form : kForms) {
    TrainingRequest request;
    request.train = &set;
    request.options = form;
    request.options["rounds"] = "7";
    request.checkpoints.file = folder.path("c.json");
    request.checkpoints.every = 1;
    REQUIRE(find_learner("rankboost")->train(request).has_value());
    request.options["rounds"] = "20";
    request.checkpoints.file.clear();
    request.checkpoints.resume = folder.path("c.json");
    const auto resumed = find_learner("rankboost")->train(request);
    INFO((resumed ? std::string() : resumed.error().text));
    REQUIRE(resumed.has_value());
    REQUIRE(model_text(resumed->model) == text_of(set, form));
  }
}

TEST_CASE("A checkpoint of other data or options is refused with what differs", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  Random random(19);
  TrainingSet set = plain_set(random, 20, 40);
  for (auto first = train(set, kForms[0]); !first || first->trace.size() < 10; first = train(set, kForms[0]))
    set = plain_set(random, 20, 40);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "4"}};
  request.checkpoints.file = folder.path("c.json");
  request.checkpoints.every = 2;
  REQUIRE(find_learner("rankboost")->train(request).has_value());
  request.checkpoints.resume = request.checkpoints.file;
  request.checkpoints.file.clear();
  request.options["weak-learner"] = "3";
  const auto other_options = find_learner("rankboost")->train(request);
  REQUIRE_FALSE(other_options.has_value());
  REQUIRE(other_options.error().text.find("--weak-learner (\"") != std::string::npos);
  request.options.erase("weak-learner");
  TrainingSet changed = set;
  changed.grades.front() += 1.0;
  request.train = &changed;
  const auto other_data = find_learner("rankboost")->train(request);
  REQUIRE_FALSE(other_data.has_value());
  REQUIRE(other_data.error().text.find("grades") != std::string::npos);
  const std::string text = read_file(folder.path("c.json"));
  request.train = &set;
  request.checkpoints.resume = folder.write("cut.json", text.substr(0, text.size() / 2));
  REQUIRE_FALSE(find_learner("rankboost")->train(request).has_value());
}

TEST_CASE("A model file gives the same scores bit for bit", "[fusion][rankboost]") {
  Random random(20);
  int trained = 0;
  for (int i = 0; i < 20; ++i) {
    const TrainingSet set = plain_set(random);
    for (const LearnerOptions& form :
         {kForms[1], LearnerOptions{{"weak-ranking", "value"}, {"rounds", "10"}}}) {
      const auto result = train(set, form);
      if (!result) continue;
      ++trained;
      const std::string text = model_text(result->model);
      const auto again = parse_model(text, "model");
      REQUIRE(again.has_value());
      REQUIRE(model_text(*again) == text);
      REQUIRE(again->ranker->score(set.matrix) == result->model.ranker->score(set.matrix));
    }
  }
  CHECK(trained >= 30);
}

TEST_CASE("Fusing lists gives the score of the matrix with explanations that sum to it",
          "[fusion][rankboost]") {
  Random random(21);
  std::vector<Feature> features{{"a", FeatureKind::rank, 0}, {"b", FeatureKind::rank, 3}};
  const auto derived = derived_features("lists,rrf,best-rank,median-rank,share", features);
  features.insert(features.end(), derived->begin(), derived->end());
  std::vector<WeakRanking> rankings;
  for (int i = 0; i < 40; ++i) {
    const auto feature = static_cast<std::uint32_t>(random.below(features.size()));
    rankings.push_back({feature, -static_cast<double>(1 + random.below(5)),
                        static_cast<double>(random.below(2)), random.normal()});
  }
  const Model model{"rankboost", features, std::make_shared<SumRanker>(rankings, features), {}, false};
  const std::vector<std::string_view> first{"u1", "u2", "u3", "u4"};
  const std::vector<std::string_view> second{"u5", "u4", "u1", "u2"};
  const std::vector<RankedIds> lists{first, second};
  const FusedRanking fused = fuse(model, lists);
  const auto scores = model.ranker->score(feature_matrix(features, fused.instances));
  REQUIRE(fused.order.size() == 5);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    REQUIRE(fused.scores[i] == scores[i]);
    const Explanation why = explain(model, fused, i);
    double sum = 0.0;
    for (const FeatureShare& share : why.features) {
      sum += share.weight;
      double fired = 0.0;
      for (const WeakRanking& h : share.fired) fired += h.alpha;
      REQUIRE(fired == Approx(share.weight).margin(1e-12));
    }
    REQUIRE(sum == Approx(why.score).margin(1e-12));
  }
}

TEST_CASE("Counts of a damaged training record are limited", "[fusion][rankboost]") {
  const JsonObject record{{"crucial_pairs", 1},
                          {"single_bipartite", JsonObject{{"below", -1}, {"above", 1e300}}},
                          {"rounds", 1e300}};
  CHECK(rankboost::generalisation_text(record, 3).find("m 0, n 9007199254740992,") != std::string::npos);
}

TEST_CASE("The bound of theorem 3 equals a worked example", "[fusion][rankboost]") {
  // d = 2, T = 1: d' = 2 * 3 * 2 * log2(2e) = 29.3123...; m = n = 10^6
  const double dimension = 12.0 * std::log2(2.0 * std::exp(1.0));
  const double part =
      2.0 * std::sqrt((dimension * (std::log(2e6 / dimension) + 1.0) + std::log(18.0 / 0.05)) / 1e6);
  REQUIRE(rankboost::generalisation_bound(2.0, 1, 1'000'000, 1'000'000, 0.05) == Approx(2.0 * part));
}
