#include "fusion/training/query_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fusion/input/training_set_builder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

using List = std::vector<std::string>;  ///< documents, best first

/// Two lists per query; the first document of the first list is relevant.
TrainingSet two_lists(const std::vector<std::pair<std::string, std::pair<List, List>>>& queries) {
  TrainingSetBuilder builder;
  for (const auto& [id, lists] : queries) {
    std::vector<std::string> documents = lists.first;
    for (const std::string& document : lists.second)
      if (std::find(documents.begin(), documents.end(), document) == documents.end())
        documents.push_back(document);
    for (const std::string& document : documents) {
      std::vector<Cell> cells;
      const List* both[] = {&lists.first, &lists.second};
      for (std::uint32_t list = 0; list < 2; ++list) {
        const auto at = std::find(both[list]->begin(), both[list]->end(), document);
        if (at != both[list]->end())
          cells.push_back({list, -static_cast<double>(at - both[list]->begin() + 1)});
      }
      InstanceRow row;
      row.query = id;
      row.document = document;
      row.grade = document == lists.first.front() ? 1 : 0;
      row.cells = cells;
      builder.add(row);
    }
  }
  const std::vector<Feature> features = {{"a@e", FeatureKind::rank, 20}, {"b@e", FeatureKind::rank, 20}};
  return builder.finish(features, {}).value();
}

std::vector<std::string> ids_of(const TrainingSet& pool, const std::vector<QueryChoice>& chosen) {
  std::vector<std::string> ids;
  for (const QueryChoice& one : chosen) ids.push_back(pool.queries[one.query].id);
  return ids;
}

}  // namespace

// Without judgments the two lists are the committee. For "same" both rank x, y, so no discount differs. For
// "swapped" the orders are opposite: each document's discounts are 1 and 1/log2(3) = .6309, both .1845 from
// their mean, for both members and documents: .369 / (1 + .6309) = .2263.
TEST_CASE("The query on which the committee disagrees most is judged first", "[fusion][query_choice]") {
  const TrainingSet pool =
      two_lists({{"same", {{"x", "y"}, {"x", "y"}}}, {"swapped", {{"u", "v"}, {"v", "u"}}}});
  const auto chosen = choose_queries(TrainingSet(), pool, {});
  REQUIRE(chosen.has_value());
  CHECK(ids_of(pool, *chosen) == List{"swapped", "same"});
  CHECK(chosen->at(0).disagreement == Approx(0.2263).epsilon(0.001));
  CHECK(chosen->at(1).disagreement == 0.0);
  CHECK(chosen->at(0).rows.size() == 2);
}

// Below rank ten nothing is discounted: lists that differ there only agree.
TEST_CASE("A committee disagrees about the first ten documents only", "[fusion][query_choice]") {
  const List top{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  const auto with = [&](const List& end) {
    List list = top;
    list.insert(list.end(), end.begin(), end.end());
    return list;
  };
  const TrainingSet pool = two_lists({{"eleventh", {with({"j", "k", "l"}), with({"j", "l", "k"})}},
                                      {"tenth", {with({"j", "k"}), with({"k", "j"})}}});
  const auto chosen = choose_queries(TrainingSet(), pool, {});
  REQUIRE(chosen.has_value());
  CHECK(ids_of(pool, *chosen) == List{"tenth", "eleventh"});
  CHECK(chosen->at(1).disagreement == 0.0);
  // ranks ten and eleven are exchanged: both documents differ by half of 1/log2(11) from their mean
  double ideal = 0;
  for (int rank = 1; rank <= 10; ++rank) ideal += 1 / std::log2(rank + 1.0);
  CHECK(chosen->at(0).disagreement == Approx(1 / std::log2(11.0) / ideal));
}

TEST_CASE("Documents without a name are new in every query", "[fusion][query_choice]") {
  TrainingSet pool = two_lists({{"a", {{"u", "v", "w"}, {"w", "v", "u"}}},
                                {"b", {{"u", "v", "w"}, {"w", "v", "u"}}},
                                {"c", {{"x", "y"}, {"y", "x"}}}});
  pool.documents = TextList(pool.documents.size(), "");
  QueryChoiceOptions options;
  options.count = 2;
  const auto chosen = choose_queries(TrainingSet(), pool, options);
  REQUIRE(chosen.has_value());
  CHECK(ids_of(pool, *chosen) == List{"a", "b"});
}

TEST_CASE("With uninformative judgments the lists remain the committee", "[fusion][query_choice]") {
  const TrainingSet pool =
      two_lists({{"same", {{"x", "y"}, {"x", "y"}}}, {"swapped", {{"u", "v"}, {"v", "u"}}}});
  TrainingSet judged = two_lists({{"p", {{"x", "y"}, {"y", "x"}}}, {"q", {{"u", "v"}, {"v", "u"}}}});
  std::fill(judged.grades.begin(), judged.grades.end(), 0.0);
  const auto chosen = choose_queries(judged, pool, {});
  REQUIRE(chosen.has_value());
  CHECK(chosen->at(0).disagreement == Approx(0.2263).epsilon(0.001));
}

TEST_CASE("The chosen queries spread over topics because shared documents count once",
          "[fusion][query_choice]") {
  const TrainingSet pool = two_lists({{"a", {{"u", "v", "w"}, {"w", "v", "u"}}},
                                      {"b", {{"u", "v", "w"}, {"w", "v", "u"}}},
                                      {"c", {{"x", "y"}, {"y", "x"}}}});
  QueryChoiceOptions options;
  options.count = 2;
  const auto chosen = choose_queries(TrainingSet(), pool, options);
  REQUIRE(chosen.has_value());
  CHECK(ids_of(pool, *chosen) == List{"a", "c"});
}

TEST_CASE("A committee of bags agrees where the judged queries decide the order", "[fusion][query_choice]") {
  std::vector<std::pair<std::string, std::pair<List, List>>> judged;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    judged.push_back({"j" + n, {{"r" + n, "s" + n, "t" + n}, {"t" + n, "s" + n, "r" + n}}});
  }
  const TrainingSet known = two_lists(judged);  // the first list is always right
  const TrainingSet pool =
      two_lists({{"swapped", {{"u", "v"}, {"v", "u"}}}, {"same", {{"x", "y"}, {"x", "y"}}}});
  QueryChoiceOptions options;
  const auto chosen = choose_queries(known, pool, options);
  REQUIRE(chosen.has_value());
  for (const QueryChoice& one : *chosen) CHECK(one.disagreement < 0.05);
  // the same seed gives the same choice with any number of threads
  options.threads = 3;
  const auto again = choose_queries(known, pool, options);
  CHECK(ids_of(pool, *again) == ids_of(pool, *chosen));
  CHECK(again->at(0).disagreement == chosen->at(0).disagreement);
}

TEST_CASE("Without queries nothing is chosen", "[fusion][query_choice]") {
  CHECK(choose_queries(TrainingSet(), TrainingSet(), {})->empty());
}

TEST_CASE("A committee of one is replaced by the lists, because it cannot disagree",
          "[fusion][query_choice]") {
  const TrainingSet judged = two_lists({{"1", {{"a", "b"}, {"b", "a"}}}, {"2", {{"c", "d"}, {"d", "c"}}}});
  const TrainingSet pool = two_lists({{"swapped", {{"u", "v"}, {"v", "u"}}}});
  const auto disagreement = [&](std::size_t members) {
    QueryChoiceOptions options;
    options.members = members;
    return choose_queries(judged, pool, options).value().at(0).disagreement;
  };
  CHECK(disagreement(1) == Approx(0.2263).epsilon(0.001));
  CHECK(disagreement(2) == 0.0);  // both have learned to trust the first list
}
