#include "fusion/data/training_set.h"

#include <cmath>
#include <limits>
#include <map>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

constexpr std::size_t kFeatures = 3;

/// A set whose queries and values depend on the seed; only queries that `keeps` accepts are added.
template <class Keeps>
TrainingSet random_subset_source(std::uint64_t seed, int distinct, Keeps keeps) {
  Random random(seed);
  TrainingSetBuilder builder;
  for (int q = 0; q < 12; ++q) {
    const std::string query = "q" + std::to_string(10 + q);
    const auto documents = 1 + random.below(8);
    for (std::uint64_t d = 0; d < documents; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < kFeatures; ++f) {
        const double value = static_cast<double>(random.below(static_cast<std::uint64_t>(distinct)));
        if (random.below(3) > 0) cells.push_back({f, value});
      }
      const std::string document = "d" + std::to_string(d);
      const auto grade = static_cast<double>(random.below(3));
      if (keeps(q)) builder.add({query, document, grade, true, cells});
    }
  }
  auto set = builder.finish({{"a"}, {"b"}, {"c"}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

void require_equal(const TrainingSet& a, const TrainingSet& b) {
  REQUIRE(a.documents == b.documents);
  REQUIRE(a.grades == b.grades);
  REQUIRE(a.queries.size() == b.queries.size());
  for (std::size_t q = 0; q < a.queries.size(); ++q) {
    REQUIRE(a.queries[q].id == b.queries[q].id);
    REQUIRE(a.queries[q].begin == b.queries[q].begin);
    REQUIRE(a.queries[q].end == b.queries[q].end);
  }
  for (std::size_t f = 0; f < kFeatures; ++f) {
    REQUIRE(a.matrix.column(f)->values == b.matrix.column(f)->values);
    REQUIRE(a.matrix.column(f)->bytes == b.matrix.column(f)->bytes);
    REQUIRE(a.matrix.column(f)->words == b.matrix.column(f)->words);
  }
}

}  // namespace

TEST_CASE("Selecting queries equals reading only those queries", "[fusion][training_subset]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const int distinct = seed % 3 == 0 ? 1000 : 6;
    const TrainingSet all = random_subset_source(seed, distinct, [](int) { return true; });
    std::vector<std::size_t> third;
    for (std::size_t q = 0; q < all.queries.size(); q += 3) third.push_back(q);
    require_equal(select_queries(all, third),
                  random_subset_source(seed, distinct, [](int q) { return q % 3 == 0; }));
  }
}

TEST_CASE("A selection of queries includes their pairs", "[fusion][training_subset]") {
  TrainingSet all = random_subset_source(4, 6, [](int) { return true; });
  const QueryRange& last = all.queries.back();
  all.pairs = {{static_cast<std::uint32_t>(all.queries[0].begin),
                static_cast<std::uint32_t>(all.queries[0].end - 1), 1.0},
               {static_cast<std::uint32_t>(last.begin), static_cast<std::uint32_t>(last.end - 1), 2.5}};
  const std::vector<std::size_t> only_last{all.queries.size() - 1};
  const TrainingSet part = select_queries(all, only_last);
  REQUIRE(part.pairs.size() == 1);
  CHECK(part.pairs[0].below == 0);
  CHECK(part.pairs[0].above == part.queries[0].end - 1);
  CHECK(part.pairs[0].weight == 2.5);
}

TEST_CASE("A query selected twice has its documents and its pairs twice", "[fusion][training_subset]") {
  TrainingSet all = random_subset_source(4, 6, [](int) { return true; });
  const auto last_row = static_cast<std::uint32_t>(all.queries[1].end - 1);
  all.pairs = {{static_cast<std::uint32_t>(all.queries[1].begin), last_row, 2.5}};
  const std::vector<std::size_t> twice{1, 1};
  const TrainingSet part = select_queries(all, twice);
  const auto size = static_cast<std::uint32_t>(part.queries[0].end);
  REQUIRE(part.grades.size() == 2 * size);
  REQUIRE(part.pairs.size() == 2);
  for (std::uint32_t copy = 0; copy < 2; ++copy) {
    CHECK(part.pairs[copy].below == copy * size);
    CHECK(part.pairs[copy].above == copy * size + size - 1);
    CHECK(part.pairs[copy].weight == 2.5);
  }
}
