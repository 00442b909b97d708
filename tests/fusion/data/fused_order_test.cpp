#include "fusion/data/fused_order.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/feature_matrix.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Texts with a common beginning and few different letters; some of them are equal.
std::vector<std::string> random_texts(Random& random, std::size_t count, std::size_t most_letters) {
  const std::string beginning(random.below(9), 'x');
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = beginning;
    for (std::size_t j = random.below(most_letters + 1); j > 0; --j)
      text += static_cast<char>('a' + random.below(3));
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::uint32_t> places(std::size_t count) {
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0U);
  return places;
}

}  // namespace

TEST_CASE("Equal scores are ordered by number of lists and then best rank and then id",
          "[fusion][fused_order]") {
  FeatureMatrix matrix({{"x", FeatureKind::rank, 30}, {"y", FeatureKind::rank, 30}}, 5);
  const TextList ids{"e", "d", "c", "b", "a"};
  matrix.set(0, 0, -9);
  matrix.set(0, 1, -9);  // two lists
  matrix.set(1, 0, -2);  // one list, rank 2
  matrix.set(2, 1, -1);  // one list, rank 1
  matrix.set(3, 1, -2);  // one list, rank 2, smaller id than row 1
  matrix.set(4, 0, -30);
  const std::vector<double> scores{1, 1, 1, 1, 2};
  CHECK(fused_order(matrix, 0, 5, scores, ids) == std::vector<std::size_t>{4, 0, 2, 3, 1});
}

TEST_CASE("A rank of 2^32 and more is the deepest one", "[fusion][fused_order]") {
  FeatureMatrix matrix({{"x", FeatureKind::rank, 0}}, 3);
  matrix.set(0, 0, -4294967297.0);
  matrix.set(1, 0, -2);
  matrix.set(2, 0, -1e300);
  CHECK(fused_order(matrix, 0, 3, std::vector<double>(3, 0.0), TextList{"a", "b", "c"}) ==
        std::vector<std::size_t>{1, 0, 2});
}

TEST_CASE("Texts sorted by keys have the order of std::sort", "[fusion][prefix_order]") {
  Random random(3);
  for (const std::size_t count : {0U, 1U, 2U, 17U, 150U, 1000U, 1500U, 70'000U})
    for (const std::size_t most_letters : {0U, 2U, 6U, 20U}) {
      const auto texts = random_texts(random, count, most_letters);
      const auto precedes = [&](std::uint32_t a, std::uint32_t b) {
        return texts[a] != texts[b] ? texts[a] < texts[b] : a < b;
      };
      auto expected = places(count);
      std::sort(expected.begin(), expected.end(), precedes);
      const std::size_t prefix =
          common_prefix(std::span(texts), [](const std::string& text) { return std::string_view(text); });
      std::vector<std::uint64_t> keys;
      for (const std::string& text : texts)
        keys.push_back(first_bytes(std::string_view(text).substr(prefix)));
      auto order = places(count);
      const bool has_equals = sort_by_keys(keys, std::span(order), precedes);
      CHECK(order == expected);
      const auto twice = std::adjacent_find(
          order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return texts[a] == texts[b]; });
      CHECK((has_equals || twice == order.end()));
    }
}

TEST_CASE("The ordered bits of numbers have the order of the numbers", "[fusion][prefix_order]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double ascending[] = {-kInfinity, -1e300, -2.0, -1.0, -1e-310, 0.0, 1e-310, 0.5, 1.0, 3.0, kInfinity};
  for (std::size_t i = 1; i < std::size(ascending); ++i)
    CHECK(ordered_bits(ascending[i - 1]) < ordered_bits(ascending[i]));
  CHECK(ordered_bits(-0.0) == ordered_bits(0.0));
}
