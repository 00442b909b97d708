#include "service/search/relevance_cut.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::service;

namespace {

FusedResult result(const std::string& key, double relevance, std::optional<int> grade = {}) {
  FusedResult out;
  out.hit.key = key;
  out.relevance = relevance;
  out.grade = grade;
  return out;
}

SearchAnswer answer_of(std::vector<FusedResult> results) {
  SearchAnswer answer;
  answer.results = std::move(results);
  return answer;
}

std::vector<std::string> shown(const SearchAnswer& answer) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i + answer.hidden < answer.results.size(); ++i)
    keys.push_back(answer.results[i].hit.key);
  return keys;
}

}  // namespace

TEST_CASE("What judges graded above 0 stays below the least relevance", "[service][relevance]") {
  const auto answer = std::make_shared<const SearchAnswer>(answer_of(
      {result("good", 0.1, 3), result("likely", 0.8), result("unlikely", 0.2), result("bad", 0.3, 0)}));
  const auto cut = with_min_relevance(answer, 0.5);
  CHECK(shown(*cut) == std::vector<std::string>{"good", "likely"});
  CHECK(cut->cut->left_out == 2);
  CHECK_FALSE(cut->has_no_good_answer());
}

TEST_CASE("What was hidden before stays hidden behind the least relevance", "[service][relevance]") {
  auto answer = answer_of({result("likely", 0.8), result("unlikely", 0.2), result("hidden", 0.9)});
  answer.hidden = 1;
  const auto cut = with_min_relevance(std::make_shared<const SearchAnswer>(answer), 0.5);
  CHECK(shown(*cut) == std::vector<std::string>{"likely"});
  CHECK(cut->cut->left_out == 1);
}

TEST_CASE("Scores never rise, and what judges graded 0 lifts none", "[service][relevance]") {
  const auto answer = answer_of({result("good", 0.1, 3), result("likely", 0.8), result("bad", 0.9, 0)});
  CHECK(unit_scores(answer, {0, 1, 2}) == std::vector<double>{0.8, 0.8, 0.0});
  CHECK(unit_scores(answer_of({result("a", 0.4), result("b", 0.6)}), {0, 1}) ==
        std::vector<double>{0.6, 0.6});
}
