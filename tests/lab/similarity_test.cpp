#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/input_files.h"
#include "lab/registry.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

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
                                std::map<std::string, std::string> options, const Model* resume = nullptr) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  request.resume = resume;
  return metafuse::lab::find_learner(learner)->train(request);
}

}  // namespace

TEST_CASE("An online model with VSIM can resume learning, on the same features only", "[lab][derived]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = similarity_set(folder.write("rows.txt", similarity_rows()), "lists,vsim");
  const auto once = train_on(set, "prank", {{"passes", "1"}});
  REQUIRE(once.has_value());
  const auto twice = train_on(set, "prank", {{"passes", "2"}});
  const auto resumed = train_on(set, "prank", {{"passes", "1"}}, &once->model);
  REQUIRE(twice.has_value());
  REQUIRE(resumed.has_value());
  CHECK(to_text(resumed->model.ranker->body()) == to_text(twice->model.ranker->body()));
  const auto other =
      train_on(similarity_set(folder.write("rows.txt", similarity_rows()), "vsim"), "prank", {});
  REQUIRE(other.has_value());
  CHECK_FALSE(train_on(set, "prank", {{"passes", "1"}}, &other->model).has_value());
}
