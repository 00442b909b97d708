#include <cstdio>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/fuse.h"
#include "fusion/model/sum_ranker.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

constexpr std::size_t kScoredRows = 300;

std::vector<Feature> features_of(FeatureKind kind) {
  return {{"1", kind, 0}, {"2", kind, 5}, {"3", kind, 0}, {"4", kind, 0}};
}

/// Weak rankings on all but the third feature, with both defaults and minus infinity among the thresholds.
std::vector<WeakRanking> score_rankings_of(Random& random, FeatureKind kind) {
  std::vector<WeakRanking> rankings;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t feature = std::vector<std::uint32_t>{0, 1, 3}[random.below(3)];
    const double cut = static_cast<double>(random.below(10));
    const double theta = i % 7 == 0 ? -std::numeric_limits<double>::infinity()
                                    : (kind == FeatureKind::rank ? -(cut + 1.0) : cut);
    rankings.push_back({feature, theta, static_cast<double>(random.below(2)), random.uniform() / 3.0});
  }
  return rankings;
}

/// Rows of random cells as text, and as a matrix.
struct Rows {
  std::string text;
  FeatureMatrix matrix;
};

Rows scored_rows_of(Random& random, const Model& model, FeatureKind kind) {
  Rows rows{{}, FeatureMatrix(model.features, kScoredRows)};
  for (std::size_t row = 0; row < kScoredRows; ++row) {
    rows.text += "0 qid:" + std::to_string(row / 10);
    for (std::size_t f = 0; f < model.features.size(); ++f) {
      const std::size_t form = random.below(4);
      if (form == 0 && model.is_absent_zero) rows.matrix.set(row, f, 0.0);
      if (form == 0) continue;  // absent
      rows.text += " " + std::to_string(f + 1) + ":";
      if (form == 1) rows.text += "NULL";
      if (form == 1) continue;
      const auto value = static_cast<double>(1 + random.below(12));
      rows.text += std::to_string(static_cast<int>(value));
      const int depth = model.features[f].depth;
      if (kind == FeatureKind::value)
        rows.matrix.set(row, f, value);
      else if (depth == 0 || value <= depth)
        rows.matrix.set(row, f, -value);
    }
    rows.text += "\n";
  }
  return rows;
}

}  // namespace

TEST_CASE("A file is scored like the matrix of its rows and with 17 digits", "[fusion][score]") {
  Random random(5);
  const metafuse::test::TemporaryFolder folder;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const FeatureKind kind = attempt % 2 == 0 ? FeatureKind::value : FeatureKind::rank;
    Model model;
    model.learner = "rankboost";
    model.features = features_of(kind);
    model.is_absent_zero = attempt % 4 == 0;
    model.ranker = std::make_shared<SumRanker>(score_rankings_of(random, kind), model.features);
    const Rows rows = scored_rows_of(random, model, kind);
    const auto scored =
        score_letor_file(model, folder.write("rows.txt", rows.text), kind == FeatureKind::rank);
    REQUIRE(scored.has_value());
    std::string wanted;
    for (const double score : model.ranker->score(rows.matrix)) {
      char line[40];
      std::snprintf(line, sizeof line, "%.17g\n", score);
      wanted += line;
    }
    REQUIRE(*scored == wanted);
  }
}

TEST_CASE("A row with a feature that the model does not have is refused with its line", "[fusion][score]") {
  Random random(5);
  const metafuse::test::TemporaryFolder folder;
  Model model;
  model.learner = "rankboost";
  model.features = features_of(FeatureKind::value);
  model.ranker = std::make_shared<SumRanker>(score_rankings_of(random, FeatureKind::value), model.features);
  CHECK(score_letor_file(model, folder.write("rows.txt", "0 qid:1 4:1\n"), false).has_value());
  const auto scored = score_letor_file(model, folder.write("rows.txt", "0 qid:1 4:1\n0 qid:1 5:1\n"), false);
  REQUIRE(scored.has_error());
  CHECK(scored.error().text.find(":2:") != std::string::npos);
  CHECK(scored.error().text.find("contains feature 5, but the model has features up to 4") !=
        std::string::npos);
}
