#include "lab/experiments/letor_agg.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "evaluation/measures/measure.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::lab::experiments;
using namespace metafuse::lab::experiments::letor_agg;

namespace {

constexpr int kQueries = 4;    // per part
constexpr int kDocuments = 8;  // per query

std::string document_of(int part, int query, int document) {
  return "p" + std::to_string(part) + "q" + std::to_string(query) + "d" + std::to_string(document);
}

/// The grade of a document; every query has all three grades.
int grade_of(int document) {
  return document % 3;
}

/// Three lists that rank documents of higher grades somewhat better and do not have a quarter of them.
std::string part_text(int part, Random& random) {
  std::string text;
  for (int query = 0; query < kQueries; ++query)
    for (int document = 0; document < kDocuments; ++document) {
      text += std::to_string(grade_of(document)) + " qid:" + std::to_string(100 * part + query);
      for (int list = 1; list <= 3; ++list) {
        const auto rank = static_cast<int>(1.0 + 30.0 * random.uniform() / (1.0 + grade_of(document)));
        text += " " + std::to_string(list) + ":" + (random.below(4) == 0 ? "NULL" : std::to_string(rank));
      }
      text += " #docid = " + document_of(part, query, document) + "\n";
    }
  return text;
}

void write_data(const test::TemporaryFolder& folder) {
  Random random(4);
  for (const char* set : kSets)
    for (int part = 1; part <= kFolds; ++part)
      folder.write(std::string("data/letor4-agg/") + set + "/A" + std::to_string(part) + ".txt",
                   part_text(part, random));
}

/// Validation runs whose scores follow the grades, or reverse them.
void write_peer(const test::TemporaryFolder& folder, const std::string& configuration, bool is_good) {
  for (const char* set : kSets)
    for (int fold = 1; fold <= kFolds; ++fold) {
      const int part = (fold + 2) % kFolds + 1;
      std::string text;
      for (int query = 0; query < kQueries; ++query)
        for (int document = 0; document < kDocuments; ++document)
          text += std::to_string(100 * part + query) + " Q0 " + document_of(part, query, document) + " 0 " +
                  std::to_string(is_good ? grade_of(document) : -grade_of(document)) + " peer\n";
      folder.write("peer/" + configuration + "/" + set + "/fold" + std::to_string(fold) + "/validation.run",
                   text);
    }
}

ExperimentOptions options_for(const test::TemporaryFolder& folder) {
  ExperimentOptions options;
  options.data = folder.path("data");
  options.size = ExperimentOptions::Size::quick;
  return options;
}

/// The mean measure of a candidate on a set's validation parts after each round.
std::vector<double> mean_curve(const std::string& set, const std::vector<Fold>& folds,
                               const Candidate& candidate, const evaluation::MeasureSet& measures,
                               const ExperimentOptions& options) {
  std::vector<std::vector<double>> curves;
  std::size_t longest = 0;
  for (const Fold& fold : folds) {
    if (fold.set != set) continue;
    const auto curve = validation_curve(fold, candidate, measures, options);
    REQUIRE(curve.has_value());
    REQUIRE_FALSE(curve->empty());
    curves.push_back(*curve);
    longest = std::max(longest, curve->size());
  }
  std::vector<double> mean(longest, 0.0);
  for (auto& curve : curves) {
    curve.resize(longest, curve.back());
    for (std::size_t t = 0; t < longest; ++t) mean[t] += curve[t] / kFolds;
  }
  return mean;
}

}  // namespace

TEST_CASE("One configuration is chosen for both sets and the rounds for each set by validation",
          "[experiments][letor_agg]") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const ExperimentOptions options = options_for(folder);
  const auto folds = official_folds(options.data);
  const auto measures = evaluation::parse_measures(kMeasures);
  REQUIRE(measures.has_value());
  Report report;
  const auto ours = choose_ours(folds, *measures, options, report);
  REQUIRE(ours.has_value());

  double best = 0.0;
  std::string name;
  std::map<std::string, std::size_t> rounds;
  for (const Candidate& candidate : candidates(options)) {
    double value = 0.0;
    std::map<std::string, std::size_t> peaks;
    for (const char* set : kSets) {
      const auto mean = mean_curve(set, folds, candidate, *measures, options);
      const auto peak = std::max_element(mean.begin(), mean.end());
      peaks[set] = static_cast<std::size_t>(peak - mean.begin()) + 1;
      value += *peak / 2.0;
    }
    CHECK(report.text.find(candidate.method.name) != std::string::npos);
    if (value <= best) continue;
    best = value;
    name = candidate.method.name;
    rounds = peaks;
  }
  CHECK(ours->candidate.method.name == name);
  CHECK(ours->value == Approx(best));
  CHECK(ours->rounds == rounds);
}

TEST_CASE("The best configuration of a peer is chosen for each way of choosing rounds",
          "[experiments][letor_agg]") {
  const test::TemporaryFolder folder;
  write_data(folder);
  ExperimentOptions options = options_for(folder);
  const auto folds = official_folds(options.data);
  const auto measures = evaluation::parse_measures(kMeasures);
  REQUIRE(measures.has_value());
  Report report;
  const auto none = choose_peers(folds, *measures, options, report);
  REQUIRE(none.has_value());
  CHECK(none->empty());

  write_peer(folder, "depth 1", false);
  write_peer(folder, "depth 3", true);
  options.peer_runs = folder.path("peer");
  const auto by_fold = choose_peers(folds, *measures, options, report);
  REQUIRE(by_fold.has_value());
  CHECK(*by_fold == std::vector<std::string>{"depth 3"});

  write_peer(folder, "depth 1, rounds by set", true);
  write_peer(folder, "depth 3, rounds by set", false);
  const auto both = choose_peers(folds, *measures, options, report);
  REQUIRE(both.has_value());
  CHECK(*both == std::vector<std::string>{"depth 3", "depth 1, rounds by set"});
}
