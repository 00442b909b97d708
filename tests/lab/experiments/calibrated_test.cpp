#include "lab/experiments/calibrated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include <Eigen/QR>
#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "lab/experiments/data_sets.h"
#include "tests/support/data_folder.h"

using namespace metafuse::lab::experiments::calibrated;
using metafuse::lab::adaboost_mh::GradedDocuments;

namespace {

constexpr std::string_view kSource =
    "LETOR 3.0, OHSUMED, from microsoft.com (LETOR: Learning to Rank for IR)";

/// One row per document: its features, then a constant.
Eigen::MatrixXd inputs_of(const GradedDocuments& documents) {
  const auto rows = static_cast<Eigen::Index>(documents.classes.size());
  const auto features = static_cast<Eigen::Index>(documents.matrix.feature_count());
  Eigen::MatrixXd inputs = Eigen::MatrixXd::Zero(rows, features + 1);
  for (Eigen::Index d = 0; d < rows; ++d)
    for (Eigen::Index f = 0; f < features; ++f)
      if (!documents.matrix.is_unranked(static_cast<std::size_t>(d), static_cast<std::size_t>(f)))
        inputs(d, f) = documents.matrix.value(static_cast<std::size_t>(d), static_cast<std::size_t>(f));
  inputs.col(features).setOnes();
  return inputs;
}

}  // namespace

TEST_CASE("Least squares on the first fold of OHSUMED has the NDCG published by LETOR",
          "[experiments][calibrated]") {
  const auto folder = metafuse::test::data_folder("letor3-OHSUMED", kSource);
  if (!folder) return;
  const std::string data = std::filesystem::path(*folder).parent_path().string();
  const DataSet set = data_sets(data)[0];
  const auto fold = read_fold(set, data, 1);
  REQUIRE(fold.has_value());
  Eigen::VectorXd grades(static_cast<Eigen::Index>(fold->training.documents.classes.size()));
  for (Eigen::Index d = 0; d < grades.size(); ++d)
    grades[d] = fold->training.documents.classes[static_cast<std::size_t>(d)];
  const Eigen::VectorXd weights =
      inputs_of(fold->training.documents).completeOrthogonalDecomposition().solve(grades);
  const Eigen::VectorXd scores = inputs_of(fold->test.documents) * weights;
  const auto values = tool_values(*fold, {scores.begin(), scores.end()});
  // The published results of LETOR 3.0's Regression: fold 1, NDCG@1 to @10.
  constexpr std::array kPublished = {.2121, .3258, .3236, .3186, .3088, .3163, .3172, .3196, .3172, .3108};
  for (std::size_t k = 0; k < kPublished.size(); ++k) {
    double sum = 0.0;
    for (const auto& query : values) sum += query[k];
    CHECK(std::abs(sum / static_cast<double>(values.size()) - kPublished[k]) < 5.1e-5);
  }
}

TEST_CASE("Documents of equal score are measured in the order of the file", "[experiments][calibrated]") {
  const auto folder = metafuse::test::data_folder("letor3-OHSUMED", kSource);
  if (!folder) return;
  const std::string data = std::filesystem::path(*folder).parent_path().string();
  const DataSet set = data_sets(data)[0];
  // NDCG@1 of the file's own order: the first line of each query compared with its best line.
  std::string query;
  double best = 0.0;
  double first = 0.0;
  double sum = 0.0;
  std::size_t queries = 0;
  const auto finish = [&] { sum += best > 0.0 ? first / best : 0.0; };
  const std::string path = metafuse::lab::experiments::with_packing(data + "/" + set.folder + "/S5.txt");
  const auto done =
      metafuse::for_each_line(path, [&](std::string_view line, std::size_t) -> metafuse::Result<void> {
        const double gain = line[0] == '2' ? 3.0 : line[0] == '1' ? 1.0 : 0.0;
        const std::string id(line.substr(2, line.find(' ', 2) - 2));
        if (id != query) {
          finish();
          query = id;
          first = gain;
          best = 0.0;
          ++queries;
        }
        best = std::max(best, gain);
        return {};
      });
  REQUIRE(done.has_value());
  finish();
  const auto fold = read_fold(set, data, 1);
  REQUIRE(fold.has_value());
  const auto values = order_candidate(*fold).values;
  REQUIRE(values.size() == queries);
  double here = 0.0;
  for (const auto& each : values) here += each[0];
  CHECK(here == Approx(sum).epsilon(1e-9));
}
