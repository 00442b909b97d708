#include "lab/experiments/trials.h"

#include <catch2/catch.hpp>

#include "lab/experiments/data_sets.h"

using namespace metafuse;
using namespace metafuse::lab::experiments;

namespace {

/// One query of three documents of grades 0, 2 and 1 and with values 1, 3 and 2.
fusion::TrainingSet three_documents() {
  fusion::TrainingSet set;
  set.matrix = fusion::FeatureMatrix({{"f", fusion::FeatureKind::value, 0}}, 3);
  set.queries = {{"q", 0, 3, 1.0}};
  set.grades = {0.0, 2.0, 1.0};
  for (const char* id : {"a", "b", "c"}) set.documents.push_back(id);
  set.in_feedback = {1, 1, 1};
  for (std::size_t row = 0; row < 3; ++row) set.matrix.set(row, 0, std::vector{1.0, 3.0, 2.0}[row]);
  return set;
}

}  // namespace

TEST_CASE("A growing model is measured before its rounds and after each, and keeps its last value",
          "[experiments][trials]") {
  const fusion::TrainingSet set = three_documents();
  const std::vector<fusion::WeakRanking> model = {{0, 2.5, 0.0, 1.0}, {0, 1.5, 0.0, 0.5}};
  const auto sums = followed(set, model, 4, [](const std::vector<double>& scores) {
    return scores[0] + 10.0 * scores[1] + 100.0 * scores[2];
  });
  CHECK(sums == std::vector<double>{0.0, 10.0, 65.0, 65.0, 65.0});
}

TEST_CASE("Measures count relevant documents that no list has, and only the first ranks",
          "[experiments][trials]") {
  fusion::TrainingSet set = three_documents();
  const auto measures = evaluation::parse_measures("map");
  REQUIRE(measures.has_value());
  const std::vector<double> scores = {3.0, 2.0, 1.0};
  CHECK(QueryMeasures(set, *measures).means(scores)[0] == Approx((1.0 / 2 + 2.0 / 3) / 2));
  set.queries[0].unlisted = {2.0, 0.0, 2.0};
  CHECK(QueryMeasures(set, *measures).means(scores)[0] == Approx((1.0 / 2 + 2.0 / 3) / 4));
  CHECK(QueryMeasures(set, *measures, 2).means(scores)[0] == Approx(1.0 / 2 / 4));
}

TEST_CASE("Words are of letters and digits in lower case", "[experiments][trials]") {
  CHECK(words_of("  The B-tree, caf\xC3\xA9 2!") ==
        std::vector<std::string>{"the", "b", "tree", "caf\xC3\xA9", "2"});
  CHECK(words_of(" .").empty());
  CHECK(joined(words_of("A  b.")) == "a b");
}
