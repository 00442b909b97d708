#include "tests/support/served_learners.h"

#include <algorithm>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "lab/registry.h"

using namespace metafuse;

namespace {

std::map<std::string, std::string> small_options(const std::string& learner) {
  if (learner == "calibrated-adaboost")
    return {{"leaves", "3"},
            {"terms", "2"},
            {"rounds", "5"},
            {"process-points", "20"},
            {"others", "rankboost,rankboost-plus,mpboost"}};
  if (learner == "adaboost-mh") return {{"rounds", "5"}, {"leaves", "4"}};
  return {};
}

bool is_sum_over_lists(const std::string& learner) {  // the others vote or have a constant term
  static const std::set<std::string> kNoSums{"adaboost-mh", "calibrated-adaboost", "prank-vp", "oap-bagg",
                                             "oap-vp",      "widrow-hoff"};
  return kNoSums.count(learner) == 0;
}

}  // namespace

TEST_CASE("The product serves and explains a model of any learner of the laboratory", "[lab][service]") {
  std::vector<fusion::Learner> only_here;
  for (const std::string_view name : fusion::laboratory_learners()) {
    REQUIRE(metafuse::lab::find_learner(name) != nullptr);
    only_here.push_back(*metafuse::lab::find_learner(name));
  }
  const auto served = test::check_served(only_here, small_options, is_sum_over_lists);
  CHECK(std::equal(served.begin(), served.end(), fusion::laboratory_learners().begin(),
                   fusion::laboratory_learners().end()));
}
