#include "fusion/training/list_worth.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Three lists for two queries. The relevant documents are r1 to r3. "good" ranks r1 and r2 first, "twin" is
/// its copy, and only "odd" has r3, below a document that is not relevant.
struct ThreeLists {
  test::TemporaryFolder folder;
  evaluation::Judgments judgments;
  std::vector<evaluation::Run> runs;

  ThreeLists() {
    const auto list = [](const std::string& tag, const std::vector<std::string>& documents) {
      std::string text;
      for (const char* query : {"1", "2"})
        for (std::size_t i = 0; i < documents.size(); ++i)
          text += std::string(query) + " Q0 " + documents[i] + " " + std::to_string(i + 1) + " " +
                  std::to_string(10 - i) + " " + tag + "\n";
      return text;
    };
    std::string qrels;
    for (const char* query : {"1", "2"})
      for (const char* document : {"r1", "r2", "r3"}) qrels += std::string(query) + " 0 " + document + " 1\n";
    judgments = evaluation::read_qrels(folder.write("qrels", qrels)).value();
    const std::vector<std::string> paths{folder.write("good", list("good", {"r1", "r2"})),
                                         folder.write("twin", list("twin", {"r1", "r2"})),
                                         folder.write("odd", list("odd", {"x", "r3"}))};
    runs = evaluation::read_runs(paths).value();
  }
};

ListWorthOptions with_rrf() {
  ListWorthOptions options;
  options.comparison.set = evaluation::parse_measures("map").value();
  options.comparison.methods = {"rrf"};
  return options;
}

const ListWorth& list_of(const ListReport& report, const std::string& name) {
  return *std::find_if(report.lists.begin(), report.lists.end(),
                       [&](const ListWorth& list) { return list.name == name; });
}

}  // namespace

TEST_CASE("The worth of a list is what the fusion of the others lacks", "[fusion][lists]") {
  const ThreeLists lists;
  const auto report = worth_of_lists(lists.runs, lists.judgments, with_rrf());
  REQUIRE(report.has_value());
  CHECK(report->queries == 2);
  CHECK(report->relevant == 6);
  CHECK(report->found == 6);
  // RRF of all: r1, r2 (two lists each), x, r3: average precision (1 + 1 + 3/4) / 3.
  CHECK(report->value == Approx((1.0 + 1.0 + 0.75) / 3.0));
  CHECK(list_of(*report, "good").alone == Approx(2.0 / 3.0));
  CHECK(list_of(*report, "odd").alone == Approx(0.5 / 3.0));
  CHECK(list_of(*report, "good").relevant == 4);
  CHECK(list_of(*report, "good").only_here == 0);
  CHECK(list_of(*report, "odd").only_here == 2);
  // Without "odd" r3 is lost. Without "twin" r1 and x tie by score, number of lists and best rank, and x
  // comes after r1 by name: r1, x, r2, r3, so that (1 + 2/3 + 3/4) / 3 is left.
  CHECK(list_of(*report, "odd").loss == Approx(0.25));
  CHECK(list_of(*report, "twin").loss == Approx((1.0 + 1.0 + 0.75 - 1.0 - 2.0 / 3.0 - 0.75) / 3.0));
  CHECK(list_of(*report, "twin").loss == list_of(*report, "good").loss);
  CHECK(report->lists.front().name == "odd");
  CHECK(list_of(*report, "odd").interval.low == Approx(0.25));  // both queries lose the same amount
  // Lists are removed one by one: first a twin, then its copy, so that only "odd" is left.
  REQUIRE(report->steps.size() == 2);
  CHECK(report->steps[0].without == "good");
  CHECK(report->steps[1].without == "twin");
  CHECK(report->steps[1].value == Approx(0.5 / 3.0));
  CHECK(report->dispensable == 0);
  CHECK(to_table(*report).find("\nno list could go for 0.005 or less\n") != std::string::npos);
  ListWorthOptions generous = with_rrf();
  generous.most_loss = 0.2;
  auto fewer = worth_of_lists(lists.runs, lists.judgments, generous);
  CHECK(fewer->dispensable == 1);
  CHECK(to_table(*fewer).find("the first 1 of them could go") != std::string::npos);
  CHECK(to_table(*fewer).find(" less\n") != std::string::npos);
  fewer->steps.front().loss = -0.25;  // as if fewer lists were better
  CHECK(to_table(*fewer).find(", 0.2500 more\n") != std::string::npos);
  CHECK(to_json(*fewer).at("lists").as_array().size() == 3);
}

TEST_CASE("A learner is retrained without each list", "[fusion][lists]") {
  const ThreeLists lists;
  ListWorthOptions options = with_rrf();
  options.comparison.learners = {"rankboost"};
  options.comparison.learner_options = {{"rounds", "5"}};
  options.comparison.folds = 2;
  const auto report = worth_of_lists(lists.runs, lists.judgments, options);
  REQUIRE(report.has_value());
  CHECK(report->method == "rankboost");
  CHECK(list_of(*report, "odd").loss > 0.2);
}

TEST_CASE("Lists that cannot be compared are refused with a reason", "[fusion][lists]") {
  const ThreeLists lists;
  const std::vector<evaluation::Run> one(lists.runs.begin(), lists.runs.begin() + 1);
  CHECK(worth_of_lists(one, lists.judgments, with_rrf()).error().code == Code::usage);
  ListWorthOptions options = with_rrf();
  options.comparison.set = evaluation::parse_measures("map,P_10").value();
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).error().code == Code::usage);
  options = with_rrf();
  options.comparison.learners = {"nobody"};
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).error().code == Code::usage);
  const auto foreign = evaluation::read_qrels(lists.folder.write("other", "9 0 d 1\n")).value();
  CHECK(worth_of_lists(lists.runs, foreign, with_rrf()).error().code == Code::bad_data);
}

TEST_CASE("Lists may go as long as their loss is at most the given one", "[fusion][lists]") {
  const ThreeLists lists;
  ListWorthOptions options = with_rrf();
  const auto report = worth_of_lists(lists.runs, lists.judgments, options);
  REQUIRE(report.has_value());
  REQUIRE(report->steps.size() == 2);
  REQUIRE(report->steps[0].loss < report->steps[1].loss);
  const auto dispensable = [&](double most_loss) {
    options.most_loss = most_loss;
    return worth_of_lists(lists.runs, lists.judgments, options)->dispensable;
  };
  for (std::size_t step = 0; step < 2; ++step) {
    CHECK(dispensable(report->steps[step].loss) == step + 1);
    CHECK(dispensable(std::nextafter(report->steps[step].loss, -1.0)) == step);
  }
}

TEST_CASE("A query that only one list answers is lost with it", "[fusion][lists]") {
  const ThreeLists lists;
  const auto extra = [&](const std::string& name, const std::string& line) {
    const std::string path = lists.folder.write(name, line);
    return evaluation::read_runs(std::vector<std::string>{path}).value().front();
  };
  const std::vector<evaluation::Run> runs{extra("both", "1 Q0 r 1 9 both\n2 Q0 r 1 9 both\n"),
                                          extra("half", "1 Q0 r 1 9 half\n")};
  const auto judgments =
      evaluation::read_qrels(lists.folder.write("of two", "1 0 r 1\n1 0 away 1\n2 0 r 2\n")).value();
  ListWorthOptions options = with_rrf();
  const auto report = worth_of_lists(runs, judgments, options);
  REQUIRE(report.has_value());
  CHECK(report->queries == 2);
  CHECK(report->relevant == 3);
  CHECK(report->found == 2);
  CHECK(report->value == Approx(0.75));  // half of query 1's relevant documents, all of query 2's
  CHECK(list_of(*report, "half").alone == Approx(0.25));
  CHECK(list_of(*report, "both").loss == Approx(0.5));
  CHECK(list_of(*report, "half").loss == Approx(0.0).margin(1e-12));
  CHECK(list_of(*report, "both").only_here == 1);
  // By a cost, an unanswered query counts as a ranking without a relevant document: 31.
  options.comparison.set = evaluation::parse_measures("avg_rank").value();
  const auto ranks = worth_of_lists(runs, judgments, options);
  REQUIRE(ranks.has_value());
  CHECK(ranks->value == -1.0);
  CHECK(list_of(*ranks, "half").alone == -16.0);
  CHECK(list_of(*ranks, "both").loss == Approx(15.0));
  CHECK(ranks->steps.at(0).without == "half");
  options.comparison.set = evaluation::parse_measures("map").value();
  options.comparison.evaluation.rules.relevance_level = 2;
  const auto strict = worth_of_lists(runs, judgments, options);
  REQUIRE(strict.has_value());
  CHECK(strict->relevant == 1);
  CHECK(list_of(*strict, "half").relevant == 0);
}

TEST_CASE("The worth of lists follows the depth and measures where lower is better", "[fusion][lists]") {
  const ThreeLists lists;
  ListWorthOptions options = with_rrf();
  options.comparison.depth = 1;
  auto report = worth_of_lists(lists.runs, lists.judgments, options);
  REQUIRE(report.has_value());
  CHECK(report->found == 2);  // r1 of each query; r2 and r3 stand below the depth
  CHECK(list_of(*report, "good").relevant == 2);
  CHECK(list_of(*report, "odd").relevant == 0);
  options.comparison.depth = 2;
  CHECK(worth_of_lists(lists.runs, lists.judgments, options)->found == 6);
  options = with_rrf();
  options.comparison.set = evaluation::parse_measures("avg_rank").value();
  const std::vector<evaluation::Run> two(lists.runs.begin() + 1, lists.runs.end());
  report = worth_of_lists(two, lists.judgments, options);
  REQUIRE(report.has_value());
  CHECK(report->value == -1.0);  // costs are negated, so that a loss is a loss
  CHECK(list_of(*report, "odd").alone == -2.0);
  CHECK(list_of(*report, "twin").loss == Approx(1.0));
}

TEST_CASE("A learner that fails is an error, unless a list less left it nothing to learn from",
          "[fusion][lists]") {
  const ThreeLists lists;
  ListWorthOptions options = with_rrf();
  options.comparison.folds = 2;
  std::size_t lists_of_error = 0;
  Code code = Code::bad_data;
  std::vector<Learner> table(1);
  table[0].name = "failing";
  table[0].train = [&](const TrainingRequest& request) -> Result<TrainingResult> {
    if (request.train->matrix.feature_count() <= lists_of_error) return fail(code, "it fails");
    return find_learner("reciprocal-ranks")->train(request);
  };
  options.comparison.table = table;
  options.comparison.learners = {"failing"};
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).has_value());
  lists_of_error = 2;
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).has_value());
  code = Code::usage;
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).error().text == "failing: it fails");
  lists_of_error = 3;
  code = Code::bad_data;
  CHECK(worth_of_lists(lists.runs, lists.judgments, options).error().text == "failing: it fails");
}
