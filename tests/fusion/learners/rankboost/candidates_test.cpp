#include "fusion/learners/rankboost/candidates.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::rankboost;

namespace {

/// A rank feature that ranks the given rows, at ranks 1 to 7 in turn.
CodedColumn column_of(std::size_t documents, const std::vector<std::size_t>& ranked) {
  std::vector<std::uint8_t> codes(documents, 0);
  for (std::size_t i = 0; i < ranked.size(); ++i) codes[ranked[i]] = static_cast<std::uint8_t>(7 - i % 7);
  return {{-7, -6, -5, -4, -3, -2, -1}, std::move(codes), {}};
}

std::vector<std::int64_t> sums_of(const CodedColumn& column, const std::vector<std::int64_t>& potentials) {
  std::vector<std::int64_t> sums(8, 0);
  for (std::size_t row = 0; row < potentials.size(); ++row) sums[column.bytes[row]] += potentials[row];
  sums[0] = 0;
  return sums;
}

/// The same potentials in some rows, 0 in the others.
std::vector<std::int64_t> within(RowRange rows, std::vector<std::int64_t> potentials) {
  for (std::size_t row = 0; row < potentials.size(); ++row)
    if (row < rows.begin || row >= rows.end) potentials[row] = 0;
  return potentials;
}

}  // namespace

TEST_CASE("A feature that ranks few documents is summed correctly over any gap", "[fusion][rankboost]") {
  constexpr std::size_t kDocuments = 5000;
  Random random(3);
  std::vector<std::vector<std::size_t>> shapes{{0, 1, 2, 257, 512, 767, 1022, 1278, 4999},
                                               {254, 509, 765},
                                               {255, 511, 1021},
                                               {256, 1023, 4000},
                                               {4999}};
  std::vector<std::size_t> many;  // more than a quarter of the rows: not stored as a list
  std::vector<std::size_t> some;
  for (std::size_t row = 0; row < kDocuments; ++row) {
    if (random.below(2) == 0) many.push_back(row);
    if (random.below(300) == 0) some.push_back(row);
  }
  shapes.push_back(many);
  shapes.push_back(some);
  std::vector<Feature> features;
  std::vector<CodedColumn> columns;
  for (const auto& ranked : shapes) {
    features.push_back({std::to_string(columns.size()), FeatureKind::rank, 0});
    // Every rank must occur so that the codes stay unchanged.
    auto padded = ranked;
    for (std::size_t row = 1500; padded.size() < 14; row += 7) padded.push_back(row);
    columns.push_back(column_of(kDocuments, padded));
  }
  const FeatureMatrix matrix(features, kDocuments, columns);
  const CodedFeatures coded(matrix, {});
  std::vector<std::int64_t> potentials;
  for (std::size_t row = 0; row < kDocuments; ++row)
    potentials.push_back(static_cast<std::int64_t>(random.next() >> 20) - (std::int64_t{1} << 43));
  std::vector<std::size_t> all;
  for (std::size_t f = 0; f < features.size(); ++f) all.push_back(f);
  for (const RowRange rows : {RowRange{0, kDocuments}, RowRange{0, 1021}, RowRange{256, kDocuments}})
    for (const unsigned threads : {1U, 3U}) {
      Histograms histograms(coded, rows);
      histograms.fill(all, potentials, threads);
      for (const std::size_t f : all) {
        const auto found = histograms.of(f);
        CHECK(std::vector<std::int64_t>(found.begin(), found.end()) ==
              sums_of(columns[f], within(rows, potentials)));
      }
    }
}

TEST_CASE("Features of few values are summed correctly in pairs", "[fusion][rankboost]") {
  constexpr std::size_t kDocuments = 70'001;  // enough for pairs, and more than one block of rows
  Random random(5);
  std::vector<Feature> features;
  std::vector<CodedColumn> columns;
  for (std::size_t f = 0; f < 11; ++f) {  // five pairs and one alone
    std::vector<std::size_t> ranked;
    for (std::size_t row = 0; row < kDocuments; ++row)
      if (random.below(4) != 0) ranked.push_back(row);
    features.push_back({std::to_string(f), FeatureKind::rank, 0});
    columns.push_back(column_of(kDocuments, ranked));
  }
  const FeatureMatrix matrix(features, kDocuments, columns);
  const CodedFeatures coded(matrix, {});
  std::vector<std::int64_t> potentials;
  for (std::size_t row = 0; row < kDocuments; ++row)
    potentials.push_back(static_cast<std::int64_t>(random.next() >> 24) - (std::int64_t{1} << 39));
  std::vector<std::size_t> all(features.size());
  for (std::size_t f = 0; f < all.size(); ++f) all[f] = f;
  const RowRange rows{3, kDocuments - 4};
  Histograms histograms(coded, rows);
  for (const unsigned threads : {1U, 3U}) {
    histograms.fill(all, potentials, threads);
    for (const std::size_t f : all) {
      const auto found = histograms.of(f);
      CHECK(std::vector<std::int64_t>(found.begin(), found.end()) ==
            sums_of(columns[f], within(rows, potentials)));
    }
  }
}
