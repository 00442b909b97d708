#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "fusion/data/features.h"
#include "fusion/input/input_files.h"
#include "fusion/model/fuse.h"
#include "fusion/model/score_file.h"
#include "fusion/training/registry.h"
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

TEST_CASE("A share is minus the part of the query's documents that a list ranks above", "[fusion][derived]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = read_rows(folder.write("rows.txt", kRows));
  const auto& features = set.matrix.features();
  REQUIRE(features.size() == 5);
  CHECK(features[2].name == "derived:lists");
  CHECK(features[3].name == "derived:share:1");
  CHECK(features[4].name == "derived:share:2");
  // Query 1 has four documents; list 1 orders them a c b d, list 2 puts c and d level above a.
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

TEST_CASE("A model of derived features scores a file as it scores the set it was trained on",
          "[fusion][derived]") {
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

TEST_CASE("Derived features that are unknown, twice or of no ranks are refused", "[fusion][derived]") {
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
