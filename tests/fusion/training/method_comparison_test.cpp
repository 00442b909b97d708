#include "fusion/training/method_comparison.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

using List = std::vector<std::string>;

/// Runs in which each query has its own list, best first.
struct RunFiles {
  test::TemporaryFolder folder;
  std::vector<std::string> paths;

  void add(const std::string& name, const std::vector<std::pair<std::string, List>>& queries) {
    std::string text;
    for (const auto& [query, documents] : queries)
      for (std::size_t i = 0; i < documents.size(); ++i)
        text += query + " Q0 " + documents[i] + " " + std::to_string(i + 1) + " " + std::to_string(100 - i) +
                " " + name + "\n";
    paths.push_back(folder.write(name, text));
  }
  std::vector<evaluation::Run> runs() const { return evaluation::read_runs(paths).value(); }
  evaluation::Judgments judgments(const std::string& text) const {
    return evaluation::read_qrels(folder.write("qrels", text)).value();
  }
};

MethodComparisonOptions comparing(const std::string& measures, std::vector<std::string> methods = {"rrf"}) {
  MethodComparisonOptions options;
  options.set = evaluation::parse_measures(measures).value();
  options.methods = std::move(methods);
  options.significance.baseline.clear();
  return options;
}

const evaluation::RunEvaluation& row_of(const MethodComparison& comparison, const std::string& name) {
  const auto& rows = comparison.report.runs;
  return *std::ranges::find_if(rows, [&](const auto& row) { return row.run == name; });
}

}  // namespace

TEST_CASE("The best run is the one with the better value even if lower is better",
          "[fusion][method_comparison]") {
  RunFiles files;
  files.add("first", {{"1", {"r", "x"}}, {"2", {"r", "x"}}});
  files.add("second", {{"1", {"x", "r"}}, {"2", {"x", "r"}}});
  const auto judgments = files.judgments("1 0 r 1\n2 0 r 1\n");
  for (const char* measure : {"map", "avg_rank"}) {
    INFO(measure);
    const auto compared = compare_methods(files.runs(), judgments, comparing(measure));
    REQUIRE(compared.has_value());
    CHECK(compared->notes.at(0) == "best_run is first");
    CHECK(compared->report.runs.at(0).run == "best_run");
    CHECK(compared->report.runs.at(0).summary.at(0) == 1.0);
  }
}

TEST_CASE("Lists are cut to the depth, and fused lists to the depth of evaluation",
          "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"x", "y", "r"}}});
  files.add("b", {{"1", {"z", "r", "u"}}});
  const auto judgments = files.judgments("1 0 r 1\n");
  const auto rank = [&](std::size_t depth, std::size_t evaluated) {
    auto options = comparing("recip_rank");
    options.depth = depth;
    options.evaluation.depth = evaluated;
    const auto compared = compare_methods(files.runs(), judgments, options);
    REQUIRE(compared.has_value());
    return row_of(*compared, "rrf").summary.at(0);
  };
  CHECK(rank(0, 0) == 1.0);              // both lists hold r
  CHECK(rank(2, 0) == Approx(1.0 / 3));  // only b does, at rank 2; x and z come first
  CHECK(rank(1, 0) == 0.0);
  CHECK(rank(2, 2) == 0.0);
  CHECK(rank(2, 3) == Approx(1.0 / 3));
}

TEST_CASE("A negative grade says that a document was not judged", "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"n", "z", "r"}}});
  files.add("b", {{"1", {"n", "z", "r"}}});
  const auto judgments = files.judgments("1 0 n -1\n1 0 z 0\n1 0 r 1\n");
  const auto compared =
      compare_methods(files.runs(), judgments, comparing("num_rel,num_nonrel_judged_ret,unj_5,bpref"));
  REQUIRE(compared.has_value());
  CHECK(row_of(*compared, "rrf").summary.at(0) == 1.0);
  CHECK(row_of(*compared, "rrf").summary.at(1) == 1.0);
  CHECK(row_of(*compared, "rrf").summary.at(2) == Approx(0.2));
  CHECK(row_of(*compared, "rrf").summary.at(3) == 0.0);  // z, the only one judged so, stands before r
}

TEST_CASE("A learner is compared on queries that it has not seen", "[fusion][method_comparison]") {
  RunFiles files;
  std::vector<std::pair<std::string, List>> queries;
  std::string qrels;
  for (const char* query : {"1", "2", "3", "4", "5", "6"}) {
    queries.push_back({query, {"r", "x"}});
    qrels += std::string(query) + " 0 r 1\n" + query + " 0 x 0\n";
  }
  files.add("a", queries);
  files.add("b", queries);
  const Learner* real = find_learner("rankboost");
  std::vector<std::set<std::string>> seen;
  std::vector<Learner> table(2);
  table[0].name = "noting";
  table[0].takes_query_weights = true;
  table[0].train = [&](const TrainingRequest& request) -> Result<TrainingResult> {
    std::set<std::string> ids;
    for (const QueryRange& query : request.train->queries) ids.insert(query.id);
    seen.push_back(ids);
    CHECK(request.train->feedback.query_weights == FeedbackOptions::QueryWeights::equal);
    TrainingRequest own = request;
    own.options = {{"rounds", "2"}};
    return real->train(own);
  };
  table[1].name = "refusing";
  table[1].takes_query_weights = false;
  table[1].train = [&](const TrainingRequest& request) -> Result<TrainingResult> {
    CHECK(request.train->feedback.query_weights == FeedbackOptions::QueryWeights::pairs);
    return fail(Code::bad_data, "it does not want to");
  };
  auto options = comparing("map");
  options.table = table;
  options.learners = {"noting", "refusing"};
  options.folds = 3;
  options.feedback.query_weights = FeedbackOptions::QueryWeights::equal;
  const auto compared = compare_methods(files.runs(), files.judgments(qrels), options);
  REQUIRE(compared.has_value());
  CHECK(compared->report.runs.size() == 3);  // the best run, rrf, and one of the learners
  CHECK(row_of(*compared, "noting").summary.at(0) == 1.0);
  CHECK(std::ranges::count(compared->notes, "refusing was left out: it does not want to") == 1);
  REQUIRE(seen.size() == 3);
  std::multiset<std::string> held_out;
  for (const auto& ids : seen)
    for (const auto& [query, list] : queries)
      if (!ids.contains(query)) held_out.insert(query);
  CHECK(held_out == std::multiset<std::string>{"1", "2", "3", "4", "5", "6"});
}

TEST_CASE("Queries without judgments or without lists are not compared", "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"r"}}, {"2", {"r"}}});
  files.add("b", {{"1", {"x", "r"}}, {"2", {"r"}}});
  const auto compared =
      compare_methods(files.runs(), files.judgments("1 0 r 1\n3 0 r 1\n"), comparing("map"));
  REQUIRE(compared.has_value());
  CHECK(compared->report.runs.at(0).queries == std::vector<std::string>{"1"});
  CHECK(compare_methods(files.runs(), files.judgments("3 0 r 1\n"), comparing("map")).error().code ==
        Code::bad_data);
  CHECK(compare_methods(files.runs(), files.judgments("1 0 r 1\n"), comparing("map", {"nothing"}))
            .error()
            .code == Code::usage);
}

TEST_CASE("Fused lists are measured as evaluate measures a run", "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"x", "r"}}, {"2", {"x"}}, {"3", {"g", "r"}}});
  const auto judgments = files.judgments("1 0 r 1\n2 0 x 0\n3 0 g 5\n3 0 r 1\n4 0 r 1\n");
  for (const auto mode : {evaluation::Mode::trec10, evaluation::Mode::gdeval}) {
    auto options = comparing("map,map_all,err_10");
    options.evaluation.rules.mode = mode;
    const auto compared = compare_methods(files.runs(), judgments, options);
    REQUIRE(compared.has_value());
    auto evaluation = options.evaluation;
    evaluation.rules.top_grade = evaluation::highest_grade(judgments);
    const auto expected =
        evaluation::evaluate_run(files.runs().front(), judgments, options.set, evaluation).value();
    for (const char* row : {"best_run", "rrf"}) {
      CHECK(row_of(*compared, row).queries == expected.queries);
      CHECK(row_of(*compared, row).summary == expected.summary);
    }
  }
}

TEST_CASE("Learners learn from the relevance level of the evaluation", "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"r", "x"}}, {"2", {"r", "x"}}});
  std::vector<Learner> table(1);
  table[0].name = "noting";
  std::vector<double> levels;
  table[0].train = [&](const TrainingRequest& request) {
    levels.push_back(request.train->feedback.relevance_level);
    return find_learner("reciprocal-ranks")->train(request);
  };
  auto options = comparing("map");
  options.table = table;
  options.learners = {"noting"};
  options.folds = 2;
  options.evaluation.rules.relevance_level = 2;
  REQUIRE(compare_methods(files.runs(), files.judgments("1 0 r 2\n2 0 r 2\n"), options).has_value());
  CHECK(levels == std::vector<double>{2.0, 2.0});
}

TEST_CASE("A learner's option that no chosen learner has is refused", "[fusion][method_comparison]") {
  RunFiles files;
  files.add("a", {{"1", {"r", "x"}}, {"2", {"r", "x"}}});
  const auto judgments = files.judgments("1 0 r 1\n2 0 r 1\n");
  auto options = comparing("map");
  options.folds = 2;
  options.learners = {"rankboost", "reciprocal-ranks"};
  options.learner_options = {{"rounds", "2"}, {"prior-pairs", "7"}};
  CHECK(compare_methods(files.runs(), judgments, options).has_value());
  options.learner_options = {{"ronds", "2"}};
  const auto refused = compare_methods(files.runs(), judgments, options);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::usage);
  CHECK(refused.error().text.find("\"ronds\"; did you mean rounds") != std::string::npos);
}
