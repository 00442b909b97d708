#include "fusion/unsupervised/supervised_fusion.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Lists of new documents; each letter gives the relevance at one position.
JudgedLists judged(const std::vector<std::string>& lists) {
  JudgedLists out;
  for (const std::string& list : lists) {
    out.query.lists.emplace_back();
    double score = 1.0;
    for (const char c : list) {
      out.query.lists.back().push_back({static_cast<std::uint32_t>(out.query.documents.size()), score});
      out.query.documents.emplace_back("d");
      out.is_relevant.push_back(c == 'r' ? 1 : 0);
      out.relevant += c == 'r' ? 1 : 0;
      score /= 2.0;
    }
  }
  return out;
}

// Query 1: L1 = r n, L2 = n r. Query 2: L1 = r, L2 = n n.
std::vector<JudgedLists> judged_example() {
  return {judged({"rn", "nr"}), judged({"r", "nn"})};
}

std::vector<std::vector<double>> learned(const char* name, double k = -1.0) {
  FusionOptions options;
  if (k >= 0.0) options.k = k;
  const auto queries = judged_example();
  const auto trained = train_fusion(*find_fusion_method(name), queries, options);
  REQUIRE(trained.has_value());
  return trained->value_at;
}

}  // namespace

TEST_CASE("Supervised methods learn the values of a worked example", "[fusion][supervised]") {
  using Table = std::vector<std::vector<double>>;
  CHECK(learned("posfuse") == Table{{1.0, 0.0}, {0.0, 0.5}});
  CHECK(learned("slidefuse", 1) == Table{{0.5, 0.5}, {0.25, 0.25}});
  CHECK(learned("probfuse", 2) == Table{{1.0, 0.0}, {0.0, 0.25}});
  CHECK(learned("segfuse") == Table{{0.5, 0.5}, {0.25, 0.25}});
  // Average precisions: L1 (1/2 + 1) / 2, L2 (1/4 + 0) / 2.
  CHECK(learned("mapfuse") == Table{{0.75, 0.375}, {0.125, 0.0625}});
  // BayesFuse on L1: buckets rank 1, rank 2-3, absent. Of the 3 relevant documents 2 are first and 1 is
  // absent; of the 4 others 1 is second and 3 are absent. Each count is smoothed by 1/2.
  const auto bayes = learned("bayesfuse");
  const double absent = std::log(1.5 / 4.5) - std::log(3.5 / 5.5);
  CHECK(bayes[0][0] == Approx(std::log(2.5 / 4.5) - std::log(0.5 / 5.5) - absent));
  CHECK(bayes[0][1] == Approx(std::log(0.5 / 4.5) - std::log(1.5 / 5.5) - absent));
}

TEST_CASE("A window may be as long as a long list", "[fusion][supervised]") {
  // By one sum per window this takes longer than a test may.
  const std::vector<JudgedLists> queries = {judged({std::string(500'000, 'r') + std::string(500'000, 'n')})};
  FusionOptions options;
  options.k = 900'000;
  const auto trained = train_fusion(*find_fusion_method("slidefuse"), queries, options);
  REQUIRE(trained.has_value());
  const auto& values = trained->value_at[0];
  CHECK(values.front() == 500'000.0 / 900'001.0);
  CHECK(values[500'000] == 0.5);
  CHECK(values.back() == 400'001.0 / 900'001.0);
}

TEST_CASE("Positions deeper than any in training get the last learned value", "[fusion][supervised]") {
  const auto queries = judged_example();
  const auto trained = train_fusion(*find_fusion_method("posfuse"), queries, {});
  const auto scores = fuse_scores(*find_fusion_method("posfuse"), judged({"nnn", "nnnn"}).query, *trained);
  CHECK(scores == std::vector<double>{1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5});
}

TEST_CASE("A query without relevant documents teaches no method anything but that", "[fusion][supervised]") {
  auto queries = judged_example();
  queries.push_back(judged({"nn", "n"}));
  REQUIRE(queries.back().relevant == 0);
  for (const FusionMethod& method : fusion_methods()) {
    if (!method.is_supervised && !method.needs_weights) continue;
    INFO(method.name);
    const auto trained = train_fusion(method, queries, {});
    REQUIRE(trained.has_value());
    for (const double weight : trained->weights) CHECK(std::isfinite(weight));
    for (const auto& values : trained->value_at)
      for (const double value : values) CHECK(std::isfinite(value));
    for (const double score : fuse_scores(method, queries[0].query, *trained)) CHECK(std::isfinite(score));
  }
  // The third query adds 0 to the sums of average precisions: L1 (1/2 + 1 + 0) / 3, L2 (1/4 + 0 + 0) / 3.
  const auto weights = mean_average_precisions(queries);
  REQUIRE(weights.size() == 2);
  CHECK(weights[0] == Approx(0.5));
  CHECK(weights[1] == Approx(1.0 / 12.0));
  CHECK(mean_average_precisions({}).empty());
}

TEST_CASE("Tuned weights prefer the list that finds relevant documents", "[fusion][supervised]") {
  const std::vector<JudgedLists> queries = {judged({"rrrn", "nnnn"}), judged({"rrn", "nnr"})};
  const auto trained = train_fusion(*find_fusion_method("tuned_weights"), queries, {});
  REQUIRE(trained.has_value());
  REQUIRE(trained->weights.size() == 2);
  CHECK(trained->weights[0] > trained->weights[1]);
  const auto borda = train_fusion(*find_fusion_method("weighted_borda"), queries, {});
  CHECK(borda->weights[0] > borda->weights[1]);
}

TEST_CASE("Judgments without a relevant document in any list are refused", "[fusion][supervised]") {
  const std::vector<JudgedLists> queries = {judged({"nn", "n"})};
  const auto trained = train_fusion(*find_fusion_method("posfuse"), queries, {});
  REQUIRE(trained.has_error());
  CHECK(trained.error().code == Code::bad_data);
}

TEST_CASE("Documents below the relevance level teach nothing, judged or not", "[fusion][supervised]") {
  const test::TemporaryFolder folder;
  const auto judgments =
      evaluation::read_qrels(folder.write("q", "1 0 a 1\n1 0 b 2\n1 0 c 3\n1 0 away 2\n2 0 a 1\n")).value();
  const auto items = judged_lists(judgments, 2, [](std::string_view) {
    QueryLists lists;
    lists.documents = {"a", "b", "c", "d"};
    lists.lists = {{{0, 4.0}, {1, 3.0}, {2, 2.0}, {3, 1.0}}};
    return lists;
  });
  REQUIRE(items.size() == 2);
  CHECK(items[0].relevant == 3);
  CHECK(items[0].is_relevant == std::vector<char>{0, 1, 1, 0});
  CHECK(items[1].relevant == 0);
}
