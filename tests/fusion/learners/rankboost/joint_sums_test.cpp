#include "fusion/learners/rankboost/joint_sums.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;
using namespace metafuse::fusion::rankboost;

namespace {

std::vector<std::uint8_t> codes_below(Random& random, std::size_t codes, std::size_t count) {
  std::vector<std::uint8_t> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(static_cast<std::uint8_t>(random.below(codes)));
  return made;
}

/// The slow way: one feature at a time.
std::vector<std::int64_t> sums_alone(const std::vector<std::uint8_t>& codes,
                                     const std::vector<std::int64_t>& potentials, std::size_t size) {
  std::vector<std::int64_t> sums(size, 0);
  for (std::size_t i = 0; i < codes.size(); ++i) sums[codes[i]] += potentials[i];
  sums[0] = 0;
  return sums;
}

}  // namespace

TEST_CASE("Two features have the same sums together as each alone", "[fusion][rankboost]") {
  Random random(21);
  const std::pair<std::size_t, std::size_t> sizes[] = {{2, 2},   {256, 2},  {256, 17},
                                                       {65, 65}, {101, 65}, {17, 256}};
  for (const auto& [first_codes, second_codes] : sizes)
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{3001}}) {
      const auto first = codes_below(random, first_codes, count);
      const auto second = codes_below(random, second_codes, count);
      std::vector<std::int64_t> potentials;
      for (std::size_t i = 0; i < count; ++i)
        potentials.push_back(static_cast<std::int64_t>(random.next() >> 12) - (std::int64_t{1} << 51));
      JointSums sums(first_codes, second_codes);
      const std::size_t part = count / 3;  // in two parts, of which the second begins anywhere
      sums.add(first.data(), second.data(), potentials.data(), part);
      sums.add(first.data() + part, second.data() + part, potentials.data() + part, count - part);
      std::vector<std::int64_t> first_sums(first_codes, 99);
      std::vector<std::int64_t> second_sums(second_codes, 99);
      sums.write(first_sums.data(), second_sums.data());
      REQUIRE(first_sums == sums_alone(first, potentials, first_codes));
      REQUIRE(second_sums == sums_alone(second, potentials, second_codes));
    }
}

TEST_CASE("As many features as possible are paired, each once", "[fusion][rankboost]") {
  const std::vector<std::size_t> features = {4, 7, 9, 12, 13, 20, 21};
  const std::vector<std::size_t> codes = {256, 17, 65, 256, 101, 256, 17};
  const Pairing pairing = pair_features(features, codes, 600000);
  CHECK(pairing.pairs.size() == 3);  // 256 x 17 twice, 101 x 65
  CHECK(pairing.singles.size() == 1);
  std::vector<std::size_t> all = pairing.singles;
  for (const FeaturePair& pair : pairing.pairs) {
    all.push_back(pair.first);
    all.push_back(pair.second);
  }
  std::sort(all.begin(), all.end());
  CHECK(all == features);
  CHECK(pair_features(features, codes, 1000).pairs.empty());  // tables would cost more than they save
  CHECK(pair_features({}, {}, 600000).singles.empty());
}
