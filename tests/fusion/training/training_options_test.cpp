#include "fusion/training/training_options.h"

#include <boost/json/object.hpp>
#include <catch2/catch.hpp>

#include "fusion/learners/common/options.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

Result<TrainingInput> read_input(const std::map<std::string, std::string>& given) {
  TrainingInput input;
  OptionTable table;
  declare_input_options(table, input);
  TRY_VOID(table.read(given));
  return input;
}

struct DashedOptions {
  std::size_t tree_depth = 2;
};

void declare_options(OptionTable& table, DashedOptions& options) {
  table.count("tree-depth", options.tree_depth, 1, 8, "questions on the path to a leaf");
}

}  // namespace

TEST_CASE("A model file has a learner's options with _ in their keys", "[fusion][training_options]") {
  const JsonObject stored = options_json(DashedOptions{3});
  REQUIRE(stored.contains("tree_depth"));
  CHECK(stored.at("tree_depth").to_number<int>() == 3);
}

TEST_CASE("The options of the input are read into the input and its feedback", "[fusion][training_options]") {
  const auto input = read_input({{"depth", "20"},
                                 {"derive", "lists,rrf"},
                                 {"feedback", "bipartite"},
                                 {"relevance-level", "2"},
                                 {"unjudged", "ignore"},
                                 {"negative-grades", "keep"},
                                 {"query-weights", "documents"},
                                 {"grade-weights", "gain"}});
  REQUIRE(input.has_value());
  CHECK(input->depth == 20);
  CHECK(input->derive == "lists,rrf");
  CHECK(input->feedback.is_bipartite);
  CHECK(input->feedback.relevance_level == 2.0);
  CHECK(input->is_unjudged_ignored);
  CHECK(input->are_negative_grades_kept);
  CHECK(input->query_weights == "documents");
  CHECK(input->feedback.grade_weights == FeedbackOptions::GradeWeights::gain);
}

TEST_CASE("An option of the input with a wrong value is refused with what may be given",
          "[fusion][training_options]") {
  CHECK(read_input({{"depth", "-1"}}).error().code == Code::usage);
  CHECK(read_input({{"relevance-level", "1001"}}).error().text.find("from -1000 to 1000") !=
        std::string::npos);
  CHECK(read_input({{"query-weights", "weights.txt"}}).error().text.find("pairs, equal, documents") !=
        std::string::npos);
}

TEST_CASE("What a learner does not use for validation is refused", "[fusion][training_options]") {
  const auto refused = [](const char* learner, const ValidationOptions& given) {
    const auto checked = check_validation(*find_learner(learner), given);
    return checked ? std::string() : checked.error().text;
  };
  CHECK(refused("rankboost", {true, "map", 5}).empty());
  CHECK(refused("auto", {false, "map", {}}).empty());
  CHECK(refused("rankboost", {false, "map", {}}).find("only with --validate") != std::string::npos);
  CHECK(refused("reciprocal-ranks", {true, {}, {}}).find("leave out --validate") != std::string::npos);
  CHECK(refused("reciprocal-ranks", {false, "map", {}}).find("leave out --metric") != std::string::npos);
  CHECK(refused("reciprocal-ranks", {false, {}, 5}).find("leave out --patience") != std::string::npos);
  CHECK(refused("reciprocal-ranks", {false, "map", 5}).find("leave out --patience") != std::string::npos);
}
