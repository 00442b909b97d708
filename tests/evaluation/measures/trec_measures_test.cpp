#include <algorithm>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "evaluation/reports/run_evaluation.h"
#include "tests/support/slow_trec_measures.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

/// A random topic: judgments (grades -1 to 3) and a list with ties, also in trec_eval's order.
struct Topic {
  std::string qrels;
  std::string run;
  std::vector<int> ranked;  // grades in the order of score and document id, both descending
  std::vector<int> judged;
};

Topic random_topic(Random& random, int number) {
  Topic topic;
  const std::string id = std::to_string(number);
  std::vector<std::tuple<double, std::string, int>> list;
  const std::size_t documents = 1 + random.below(60);
  for (std::size_t i = 0; i < documents; ++i) {
    const std::string document = "D" + std::to_string(random.below(1000)) + "-" + std::to_string(i);
    int grade = -1;
    if (random.below(4) != 0) {
      const int judged = static_cast<int>(random.below(random.below(2) == 0 ? 2 : 5)) - 1;
      topic.qrels += id + " 0 " + document + " " + std::to_string(judged) + "\n";
      grade = judged < 0 ? -2 : judged;
      if (judged >= 0) topic.judged.push_back(judged);
    }
    if (random.below(5) != 0) list.emplace_back(static_cast<double>(random.below(20)) / 4, document, grade);
  }
  for (const auto& [score, document, grade] : list)
    topic.run += id + " Q0 " + document + " 1 " + std::to_string(score) + " t\n";
  std::sort(list.rbegin(), list.rend());
  for (const auto& item : list) topic.ranked.push_back(std::get<2>(item));
  return topic;
}

}  // namespace

TEST_CASE("The measures of trec_eval agree with their definitions on every topic",
          "[evaluation][trec_eval]") {
  const test::TemporaryFolder folder;
  Random random(77);
  for (const int level : {1, 2, 3}) {
    std::string qrels;
    std::string run;
    std::map<std::string, Topic> topics;
    for (int number = 100; number < 400; ++number) {
      const Topic topic = random_topic(random, number);
      if (topic.qrels.empty() || topic.run.empty()) continue;
      qrels += topic.qrels;
      run += topic.run;
      topics.emplace(std::to_string(number), topic);
    }
    const auto judgments = read_qrels(folder.write("qrels", qrels));
    const auto index = index_run(folder.write("run", run));
    const auto set = parse_measures(
        "all_trec,yaap,success.5,10,15,20,30,100,iprec_at_recall,Rprec_mult,11pt_avg,P,recall,map_cut,ndcg_"
        "cut,relative_P");
    REQUIRE(judgments.has_value());
    REQUIRE(index.has_value());
    REQUIRE(set.has_value());
    EvaluationOptions options;
    options.rules.relevance_level = level;
    const auto evaluation = evaluate_run(*index, *judgments, *set, options);
    REQUIRE(evaluation.has_value());
    REQUIRE(evaluation->queries.size() == topics.size());
    for (std::size_t query = 0; query < evaluation->queries.size(); ++query) {
      const Topic& topic = topics.at(evaluation->queries[query]);
      for (const auto& [name, want] : test::SlowTrecMeasures(topic.ranked, topic.judged, level).all()) {
        const auto column =
            static_cast<std::size_t>(std::ranges::find(set->names, name) - set->names.begin());
        INFO(name << " of topic " << evaluation->queries[query] << " at level " << level);
        REQUIRE(column < set->size());
        REQUIRE(evaluation->value(query, column) == Approx(want).margin(1e-12));
      }
    }
  }
}

TEST_CASE("Average rank loss is the mean of |score - grade| over all documents", "[evaluation][measure]") {
  const test::TemporaryFolder folder;
  // Query 1: |2-2|, |1-0|, |0-2| = 3 over 3; query 2: |1.5-1| over 1. All four documents: 3.5 / 4.
  const std::string letor = folder.write("l", "2 qid:1 1:0\n0 qid:1 1:0\n2 qid:1 1:0\n1 qid:2 1:0\n");
  const auto set = parse_measures("average_rank_loss");
  REQUIRE(set.has_value());
  const auto evaluation = evaluate_letor(letor, false, folder.write("s", "2\n1\n0\n1.5\n"), *set, {});
  REQUIRE(evaluation.has_value());
  CHECK(evaluation->value(0, 0) == Approx(1.0));
  CHECK(evaluation->value(1, 0) == Approx(0.5));
  CHECK(evaluation->summary[0] == Approx(0.875));
  JudgedRanking ranking;
  ranking.grades = {kUnjudged, 1};  // what nobody judged has grade 0
  ranking.scores = {0.25, 0.25};
  CHECK(evaluate(*set, ranking, {})[0] == Approx(0.5));
}
