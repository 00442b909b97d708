#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/input_files.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/model/fuse.h"
#include "fusion/model/model_file.h"
#include "fusion/training/registry.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::monotone_trees;

namespace {

constexpr std::size_t kLists = 4;

/// Four lists of ranks from 1 to 12, later lists being better; a quarter of the cells is NULL.
std::string some_rows() {
  Random random(3);
  std::string text;
  for (int q = 0; q < 40; ++q)
    for (int d = 0; d < 12; ++d) {
      const auto grade = static_cast<double>(random.below(3));
      text += std::to_string(static_cast<int>(grade)) + " qid:" + std::to_string(q);
      for (std::size_t f = 0; f < kLists; ++f) {
        const double rank =
            std::floor(1.0 + 12.0 * random.uniform() / (1.0 + grade * static_cast<double>(f)));
        text += " " + std::to_string(f + 1) + ":" +
                (random.below(4) == 0 ? "NULL" : std::to_string(static_cast<int>(rank)));
      }
      text += " #docid = d" + std::to_string(d) + "\n";
    }
  return text;
}

TrainingSet some_set(const std::string& query_weights = "pairs") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor_ranks = {folder.write("rows.txt", some_rows())};
  input.derive = "share";
  input.query_weights = query_weights;
  auto set = read_training_set(input);
  REQUIRE(set.has_value());
  return std::move(*set);
}

Result<TrainingResult> train(const TrainingSet& set, std::map<std::string, std::string> options,
                             unsigned threads = 1) {
  TrainingRequest request;
  request.train = &set;
  request.threads = threads;
  request.options = {{"rounds", "15"}, {"bags", "5"}};
  for (const auto& [name, value] : options) request.options[name] = value;
  return find_learner("monotone-trees")->train(request);
}

Model trained(const TrainingSet& set, std::map<std::string, std::string> options = {}, unsigned threads = 1) {
  auto result = train(set, std::move(options), threads);
  REQUIRE(result.has_value());
  return std::move(result->model);
}

/// Lists that rank ten documents each, in random orders.
std::vector<std::vector<std::string>> random_lists(Random& random) {
  std::vector<std::vector<std::string>> lists(kLists);
  for (auto& list : lists) {
    for (int d = 0; d < 10; ++d) list.push_back("d" + std::to_string(d));
    random.shuffle(list);
    list.resize(static_cast<std::size_t>(3 + random.below(8)));
  }
  return lists;
}

/// The position of a document in the fused order.
std::size_t place_of(const std::string& document, const Model& model,
                     const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::vector<std::string_view>> views;
  for (const auto& list : lists) views.emplace_back(list.begin(), list.end());
  const std::vector<RankedIds> ids(views.begin(), views.end());
  const FusedRanking ranking = fuse(model, ids);
  for (std::size_t place = 0; place < ranking.order.size(); ++place)
    if (ranking.instances.documents[ranking.order[place]] == document) return place;
  return ranking.order.size();
}

Code refusal(const std::string& text, const std::string& from, const std::string& to) {
  std::string changed = text;
  const std::size_t at = changed.find(from);
  REQUIRE(at != std::string::npos);
  changed.replace(at, from.size(), to);
  const auto model = parse_model(changed, "m.json");
  REQUIRE(!model.has_value());
  return model.error().code;
}

}  // namespace

TEST_CASE("Trees are the same for any number of threads and survive their file", "[fusion][monotone_trees]") {
  const TrainingSet set = some_set();
  const Model model = trained(set);
  const std::string text = model_text(model);
  CHECK(model_text(trained(set, {}, 3)) == text);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
  CHECK(back->ranker->score(set.matrix) == model.ranker->score(set.matrix));
}

TEST_CASE("Trees order their training set better than chance", "[fusion][monotone_trees]") {
  const TrainingSet set = some_set();
  const auto scores = trained(set).ranker->score(set.matrix);
  double right = 0.0, pairs = 0.0;
  for (const QueryRange& query : set.queries)
    for (std::size_t i = query.begin; i < query.end; ++i)
      for (std::size_t j = query.begin; j < query.end; ++j)
        if (set.grades[i] > set.grades[j]) {
          pairs += 1.0;
          right += scores[i] > scores[j] ? 1.0 : 0.0;
        }
  CHECK(right / pairs > 0.75);
}

TEST_CASE("No document falls in the fused order by rising in a list", "[fusion][monotone_trees]") {
  const Model model = trained(some_set(), {{"tree-depth", "4"}});
  Random random(8);
  std::size_t risen = 0;
  for (int trial = 0; trial < 300; ++trial) {
    auto lists = random_lists(random);
    auto& list = lists[static_cast<std::size_t>(random.below(kLists))];
    const auto at = static_cast<std::size_t>(1 + random.below(list.size() - 1));
    const std::string document = list[at];
    const std::size_t before = place_of(document, model, lists);
    std::swap(list[at], list[at - 1]);
    const std::size_t after = place_of(document, model, lists);
    CHECK(after <= before);
    risen += after < before ? 1 : 0;
  }
  CHECK(risen > 20);
}

TEST_CASE("The contributions of the features sum to the score", "[fusion][monotone_trees]") {
  const TrainingSet set = some_set();
  const Model model = trained(set);
  const auto scores = model.ranker->score(set.matrix);
  for (std::size_t row = 0; row < scores.size(); row += 7) {
    const auto parts = model.ranker->contributions(set.matrix, row);
    CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) == Approx(scores[row]).margin(1e-12));
  }
  const std::string text = model.ranker->describe(model.features);
  CHECK(text.find("derived:share:3") != std::string::npos);
  CHECK(text.find("rank <= ") != std::string::npos);
}

TEST_CASE("Validation data choose the number of rounds as if trained with that many",
          "[fusion][monotone_trees]") {
  const TrainingSet set = some_set();
  const Model eight = trained(set, {{"rounds", "8"}});
  const auto most = [](std::span<const double> scores) {
    return *std::max_element(scores.begin(), scores.end());
  };
  const double target = 5.0 * most(eight.ranker->score(set.matrix));  // a sum over the bags is measured
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "20"}, {"bags", "5"}};
  request.validate = &set;
  request.measure.name = "nearness";
  request.measure.value = [&](std::span<const double> scores) { return -std::abs(most(scores) - target); };
  const auto chosen = find_learner("monotone-trees")->train(request);
  REQUIRE(chosen.has_value());
  CHECK(chosen->model.training.at("validation").at("rounds").to_number<int>() == 8);
  CHECK(chosen->model.ranker->score(set.matrix) == eight.ranker->score(set.matrix));
}

TEST_CASE("The trace has one line with the tree per bag and round", "[fusion][monotone_trees]") {
  const TrainingSet set = some_set();
  const auto result = train(set, {{"rounds", "3"}, {"bags", "2"}});
  REQUIRE(result.has_value());
  REQUIRE(result->trace.size() == 6);
  CHECK(result->trace[4].at("bag").to_number<int>() == 2);
  CHECK(result->trace[4].at("round").to_number<int>() == 2);
  CHECK(result->trace[4].at("tree").as_array().size() ==
        dynamic_cast<const TreeRanker&>(*result->model.ranker).trees()[4].size());
}

TEST_CASE("Queries can be weighted by their number of documents", "[fusion][monotone_trees]") {
  const TrainingSet set = some_set("documents");
  for (const QueryRange& query : set.queries) CHECK(query.weight == 12.0);
  // All have twelve documents, so this equals equal weights.
  CHECK(trained(set).ranker->score(set.matrix) == trained(some_set("equal")).ranker->score(set.matrix));
}

TEST_CASE("Without features trees tie all documents", "[fusion][monotone_trees]") {
  TrainingSetBuilder rows;
  for (const char* document : {"a", "b"}) rows.add({"q", document, *document == 'a' ? 1.0 : 0.0, true, {}});
  const auto set = rows.finish({}, {}, false, 1);
  REQUIRE(set.has_value());
  const auto scores = trained(*set).ranker->score(set->matrix);
  CHECK(scores[0] == scores[1]);
}

TEST_CASE("Options and feedback that trees cannot use are refused", "[fusion][monotone_trees]") {
  TrainingSet set = some_set();
  for (const auto& [name, value] : std::map<std::string, std::string>{{"bags", "0"},
                                                                      {"tree-depth", "9"},
                                                                      {"rate", "0"},
                                                                      {"feature-share", "1.5"},
                                                                      {"query-share", "-1"},
                                                                      {"max-thresholds", "256"}}) {
    const auto result = train(set, {{name, value}});
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::usage);
    CHECK(result.error().text.find(name) != std::string::npos);
  }
  set.pairs.push_back({0, 1, 1.0});
  CHECK(train(set, {}).error().code == Code::usage);
}

TEST_CASE("A body that is not a sum of monotone trees is refused", "[fusion][monotone_trees]") {
  const std::string good =
      R"({"format":"metafuse-model","version":1,"learner":"monotone-trees","features":[{"name":"a","kind":"rank","depth":0}],)"
      R"("unranked":"null","body":{"trees":[[{"feature":0,"rank":3,"value":0,"below":1,"above":2},{"value":-1},{"value":1}]]},"training":{}})";
  REQUIRE(parse_model(good, "m.json").has_value());
  CHECK(refusal(good, "\"value\":1}", "\"value\":-2}") == Code::bad_data);   // falls with a better rank
  CHECK(refusal(good, "\"above\":2", "\"above\":1") == Code::bad_data);      // two parents
  CHECK(refusal(good, "\"above\":2", "\"above\":3") == Code::bad_data);      // no such node
  CHECK(refusal(good, "\"below\":1", "\"below\":0") == Code::bad_data);      // a cycle
  CHECK(refusal(good, "\"feature\":0", "\"feature\":1") == Code::bad_data);  // no such feature
  CHECK(refusal(good, "\"rank\":3", "\"threshold\":3") == Code::bad_data);
  CHECK(refusal(good, "\"rank\":3", "\"rank\":1.5") == Code::bad_data);
  CHECK(refusal(good, "{\"value\":-1}", "7") == Code::bad_data);
  CHECK(refusal(good, "\"trees\":[[", "\"trees\":[[],[") == Code::bad_data);
}
