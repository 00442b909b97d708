#include "fusion/learners/common/bagging.h"

#include <map>
#include <set>
#include <string_view>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/base_queries.h"

using namespace metafuse;
using namespace metafuse::fusion;

TEST_CASE("Searches of one base query stay in the same half", "[fusion][reciprocal_ranks]") {
  TrainingSet set;
  for (const char* id :
       {"clicked a#1", "clicked a#2", "judged a", "b", "clicked c#1", "judged c", "c#3", "d"})
    set.queries.push_back({id, 0, 0});
  const auto halves = halves_of_queries(set, Random(3));
  CHECK(halves[0].size() + halves[1].size() == set.queries.size());
  std::map<std::string_view, std::set<std::size_t>> sides;
  for (std::size_t side = 0; side < 2; ++side)
    for (const std::size_t query : halves[side]) sides[base_query_of(set.queries[query].id)].insert(side);
  CHECK(sides.size() == 4);
  for (const auto& [name, of] : sides) CHECK(of.size() == 1);
  CHECK_FALSE(halves[0].empty());
  CHECK_FALSE(halves[1].empty());
}
