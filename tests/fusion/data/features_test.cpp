#include "fusion/data/features.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/input_files.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/model/fuse.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

const char* const kRows =
    "2 qid:1 1:1 2:40 #docid = a\n"
    "0 qid:1 1:3 2:NULL #docid = b\n"
    "1 qid:1 1:2 2:7 #docid = c\n"
    "0 qid:1 1:9 2:7 #docid = d\n"
    "0 qid:2 1:5 2:1 #docid = e\n"
    "1 qid:2 1:2 2:NULL #docid = f\n";

TrainingSet read_rows(const std::string& path) {
  TrainingInput input;
  input.letor_ranks = {path};
  input.derive = "lists,share";
  auto set = read_training_set(input);
  REQUIRE(set.has_value());
  return std::move(*set);
}

}  // namespace

TEST_CASE("A share is minus the part of the query's documents that the list ranks higher",
          "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = read_rows(folder.write("rows.txt", kRows));
  const auto& features = set.matrix.features();
  REQUIRE(features.size() == 5);
  CHECK(features[2].name == "derived:lists");
  CHECK(features[3].name == "derived:share:1");
  CHECK(features[4].name == "derived:share:2");
  // Query 1 has four documents; list 1 orders them a c b d, list 2 ranks c and d equally, above a.
  const double first[] = {0.0, -0.5, -0.25, -0.75};
  for (std::size_t row = 0; row < 4; ++row) CHECK(set.matrix.value(row, 3) == first[row]);
  CHECK(set.matrix.value(0, 4) == -0.5);
  CHECK(set.matrix.is_unranked(1, 4));
  CHECK(set.matrix.value(2, 4) == 0.0);
  CHECK(set.matrix.value(3, 4) == 0.0);
  // Query 2 has two.
  CHECK(set.matrix.value(4, 3) == -0.5);
  CHECK(set.matrix.value(5, 3) == 0.0);
  CHECK(set.matrix.value(4, 4) == 0.0);
  CHECK(set.matrix.is_unranked(5, 4));
}

TEST_CASE("Derived values of one instance are those among all instances", "[fusion][derived]") {
  Random random(17);
  for (int trial = 0; trial < 200; ++trial) {
    QueryInstances instances;
    instances.lists = 1 + random.below(4);
    instances.documents.resize(1 + random.below(9));
    for (std::size_t i = 0; i < instances.documents.size() * instances.lists; ++i)
      instances.ranks.push_back(static_cast<std::uint32_t>(random.below(6)));
    std::vector<Feature> features;
    for (std::size_t list = 0; list < instances.lists; ++list)
      features.push_back({"list" + std::to_string(list), FeatureKind::rank, 0});
    const auto derived = derived_features(kDerivedNames, features).value();
    features.insert(features.end(), derived.begin(), derived.end());
    const auto all = derived_values(features, instances);
    for (std::size_t i = 0; i < instances.documents.size(); ++i) {
      const auto own = derived_values(features, instances, i);
      REQUIRE(own.size() == derived.size());
      for (std::size_t j = 0; j < own.size(); ++j) {
        const double expected = all[i * derived.size() + j];
        REQUIRE((own[j] == expected || (std::isnan(own[j]) && std::isnan(expected))));
      }
    }
  }
}

TEST_CASE("A rank deeper than can be counted is the deepest one and not none", "[fusion][derived]") {
  CHECK(whole_rank(4294967295.0) == 4294967295U);
  CHECK(whole_rank(4294967296.0) == 4294967295U);
  CHECK(whole_rank(1e300) == 4294967295U);
}

TEST_CASE("A model of derived features scores a file like its training set", "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("rows.txt", kRows);
  const TrainingSet set = read_rows(path);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "5"}};
  const auto result = find_learner("rankboost")->train(request);
  REQUIRE(result.has_value());
  bool uses_shares = false;
  for (const double value : result->model.ranker->contributions(set.matrix, 0)) uses_shares |= value != 0.0;
  CHECK(uses_shares);
  const auto text = score_letor_file(result->model, path, true);
  REQUIRE(text.has_value());
  std::istringstream lines(*text);
  for (const double expected : result->model.ranker->score(set.matrix)) {
    double score = 0.0;
    REQUIRE(lines >> score);
    CHECK(score == expected);
  }
  const std::string apart = folder.write("apart.txt", std::string(kRows) + "0 qid:1 1:4 2:NULL #docid = g\n");
  const auto refused = score_letor_file(result->model, apart, true);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::bad_data);
  CHECK(refused.error().text.find(":7:") != std::string::npos);
  CHECK(refused.error().text.find("sort them by query") != std::string::npos);
}

TEST_CASE("Derived features that are unknown or duplicate or without ranks are refused",
          "[fusion][derived]") {
  const std::vector<Feature> lists = {{"a", FeatureKind::rank, 0}, {"b", FeatureKind::rank, 0}};
  CHECK(derived_features("share,rrf", lists)->size() == 3);
  for (const char* names : {"rrf,rrf", "share,share", "shares", "share,,rrf"})
    CHECK(derived_features(names, lists).error().code == Code::usage);
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("values.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.25\n")};
  input.derive = "lists";
  CHECK(read_training_set(input).error().code == Code::usage);
}

TEST_CASE("A model whose derived features do not belong to its lists is refused", "[fusion][derived]") {
  const auto model_of = [](const std::string& features) {
    const std::string text = R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[)" +
                             features + R"(],"unranked":"absent","body":{"weak_rankings":[]},"training":{}})";
    const auto model = parse_model(text, "m.json");
    return model ? std::string("accepted") : model.error().text;
  };
  const std::string list = R"({"name":"a","kind":"rank","depth":0})";
  const auto derived = [](const std::string& name) {
    return R"({"name":"derived:)" + name + R"(","kind":"value","depth":0})";
  };
  CHECK(model_of(list + "," + derived("share:a") + "," + derived("lists")) == "accepted");
  CHECK(model_of(list + "," + derived("share:b")).find("not a derived feature of the preceding lists") !=
        std::string::npos);
  CHECK(model_of(list + "," + derived("score:a")).find("not a derived feature of the preceding lists") !=
        std::string::npos);  // which no version that was released had
  CHECK(model_of(list + "," + derived("mean")).find("not a derived feature of the preceding lists") !=
        std::string::npos);
  CHECK(model_of(derived("lists") + "," + list).find("comes after a derived feature") != std::string::npos);
}

namespace {

/// Thirty queries of eight documents in three lists; the first list is the best.
std::string similarity_rows() {
  Random random(5);
  std::string rows;
  for (int query = 1; query <= 30; ++query)
    for (int document = 0; document < 8; ++document) {
      const int grade = document < 2 ? 1 : 0;
      rows += std::to_string(grade) + " qid:" + std::to_string(100 + query);  // equal lengths: file order
      for (int list = 1; list <= 3; ++list) {
        const int rank = 1 + static_cast<int>(random.below(list == 1 && grade == 1 ? 4 : 9));
        rows += " " + std::to_string(list) + ":" + (rank == 9 ? "NULL" : std::to_string(rank));
      }
      rows += " #docid = d" + std::to_string(document) + "\n";
    }
  return rows;
}

TrainingSet similarity_set(const std::string& path, const std::string& derive) {
  TrainingInput input;
  input.letor_ranks = {path};
  input.derive = derive;
  auto set = read_training_set(input);
  REQUIRE(set.has_value());
  return std::move(*set);
}

Result<TrainingResult> train_on(const TrainingSet& set, const std::string& learner,
                                std::map<std::string, std::string> options) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  return find_learner(learner)->train(request);
}

}  // namespace

TEST_CASE("A run that found nothing is a list that teaches nothing", "[fusion][input]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.runs = {"full=" + folder.write("full.run", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"),
                "empty=" + folder.write("empty.run", "")};
  input.qrels = folder.write("qrels", "1 0 a 1\n1 0 b 0\n");
  const auto set = read_training_set(input);
  REQUIRE(set.has_value());
  REQUIRE(set->matrix.feature_count() == 2);
  const auto trained = train_on(*set, "rankboost", {{"rounds", "5"}});
  REQUIRE(trained.has_value());
  for (const WeakRanking& ranking : *trained->model.ranker->sum()->rankings()) CHECK(ranking.feature == 0);
}

TEST_CASE("The feature VSIM has the scores of vector similarity in every way of scoring",
          "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("rows.txt", similarity_rows());
  const TrainingSet plain = similarity_set(path, "");
  const TrainingSet derived = similarity_set(path, "vsim");
  REQUIRE(derived.matrix.feature_count() == 4);
  CHECK(derived.matrix.features()[3].name == kSimilarityFeature);
  const auto similarity = similarity::vector_similarity(plain);
  REQUIRE(similarity.has_value());
  TrainingSet by_hand = plain;
  std::vector<Feature> features = plain.matrix.features();
  features.push_back({"by hand", FeatureKind::value, 0});
  const auto with_column = [&](const std::vector<double>& column) {
    FeatureMatrix matrix(features, plain.matrix.document_count());
    for (std::size_t row = 0; row < column.size(); ++row) {
      for (std::size_t f = 0; f < 3; ++f)
        if (!plain.matrix.is_unranked(row, f)) matrix.set(row, f, plain.matrix.value(row, f));
      matrix.set(row, 3, column[row]);
    }
    return matrix;
  };
  const std::vector<double> scores_of_all = similarity->score(plain.matrix);
  by_hand.matrix = with_column(similarity::leave_one_out(plain, scores_of_all));
  const FeatureMatrix to_score = with_column(scores_of_all);
  for (const char* learner : {"rankboost", "rankboost-blend", "monotone-trees"}) {
    INFO(learner);
    const auto trained = train_on(derived, learner, {});
    const auto expected = train_on(by_hand, learner, {});
    REQUIRE(trained.has_value());
    REQUIRE(expected.has_value());
    const std::vector<double> scores = trained->model.ranker->score(derived.matrix);
    CHECK(scores == expected->model.ranker->score(to_score));
    bool is_used = false;
    for (std::size_t row = 0; row < 8; ++row) {
      const auto parts = trained->model.ranker->contributions(derived.matrix, row);
      REQUIRE(parts.size() == 4);
      is_used |= parts[3] != 0.0;
    }
    CHECK(is_used);
    const auto again = parse_model(model_text(trained->model), "model");
    REQUIRE(again.has_value());
    CHECK(again->ranker->score(derived.matrix) == scores);
    const auto lines = score_letor_file(*again, path, true);
    REQUIRE(lines.has_value());
    std::istringstream read(*lines);
    for (const double score : scores) {
      double printed = 0.0;
      REQUIRE(read >> printed);
      CHECK(printed == score);
    }
  }
}

TEST_CASE("The training column of VSIM predicts each document as if it had no grade", "[fusion][derived]") {
  Random random(11);
  int compared = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const TrainingSet set = test::random_training_set(random);
    const auto whole = similarity::vector_similarity(set);
    if (!whole) continue;
    const std::vector<double> column = similarity::leave_one_out(set, whole->score(set.matrix));
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (set.in_feedback[row] == 0) {
        CHECK(column[row] == whole->score(set.matrix)[row]);
        continue;
      }
      TrainingSet without = set;
      without.in_feedback[row] = 0;
      const auto others = similarity::vector_similarity(without);
      if (!others) continue;
      ++compared;
      CHECK(column[row] == Approx(others->score(set.matrix)[row]).margin(1e-9));
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("A model with VSIM fuses lists and explains itself", "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = similarity_set(folder.write("rows.txt", similarity_rows()), "lists,vsim");
  const auto trained = train_on(set, "rankboost", {{"rounds", "20"}});
  REQUIRE(trained.has_value());
  const std::vector<std::vector<std::string_view>> lists{{"x", "y"}, {"y", "z"}, {"x"}};
  const FusedRanking fused = fuse(trained->model, std::vector<RankedIds>(lists.begin(), lists.end()));
  REQUIRE(fused.scores.size() == 3);
  const Explanation why = explain(trained->model, fused, fused.order[0]);
  REQUIRE(why.features.size() == 5);
  double sum = 0.0;
  for (const FeatureShare& share : why.features) sum += share.weight;
  CHECK(sum == Approx(why.score));
}

TEST_CASE("A damaged VSIM body is refused with the name of the field", "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = similarity_set(folder.write("rows.txt", similarity_rows()), "vsim");
  const auto trained = train_on(set, "rankboost", {{"rounds", "3"}});
  REQUIRE(trained.has_value());
  const auto error_without = [&](const char* field) {
    auto text = parse_json(model_text(trained->model), "m.json");
    REQUIRE(text.has_value());
    JsonObject root = text->as_object();
    root["body"].as_object().erase(field);
    const auto model = parse_model(to_text(root), "m.json");
    return model ? std::string("accepted") : model.error().text;
  };
  CHECK(error_without("similarity").find("body.similarity") != std::string::npos);
  CHECK(error_without("ranker").find("body.ranker") != std::string::npos);
}
