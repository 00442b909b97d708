#include <algorithm>

#include <catch2/catch.hpp>

#include "lab/learners/adaboost_mh/training_data.h"

using metafuse::Random;
using namespace metafuse::lab::adaboost_mh;

TEST_CASE("A calibration split is the given share of the documents with their queries",
          "[fusion][adaboost_mh]") {
  GradedDocuments documents;
  for (int d = 0; d < 50; ++d) documents.classes.push_back(d % 3);
  documents.queries = {{0, 10}, {10, 11}, {11, 50}};
  const CalibrationSplit split = draw_split(documents, 0.2, Random(3));
  REQUIRE(split.documents.size() == 10);
  CHECK(std::is_sorted(split.documents.begin(), split.documents.end()));
  std::size_t covered = 0;
  for (const RowRange& query : split.queries) {
    CHECK(query.begin == covered);
    CHECK(query.end > query.begin);
    covered = query.end;
    const auto whole = [&](std::size_t i) {
      return std::find_if(documents.queries.begin(), documents.queries.end(),
                          [&](const RowRange& q) { return split.documents[i] < q.end; });
    };
    CHECK(whole(query.begin) == whole(query.end - 1));
  }
  CHECK(covered == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(split.left_out[split.documents[i]] == 1);
    CHECK(split.classes[i] == documents.classes[split.documents[i]]);
  }
  CHECK(std::count(split.left_out.begin(), split.left_out.end(), 1) == 10);
  CHECK_FALSE(draw_split(documents, 0.2, Random(4)).documents == split.documents);
  documents.classes.resize(2);
  documents.queries = {{0, 2}};
  CHECK(draw_split(documents, 0.01, Random(5)).documents.size() == 1);
  CHECK(draw_split(documents, 0.9, Random(5)).documents.size() == 1);
}
