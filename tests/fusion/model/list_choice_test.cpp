#include "fusion/model/list_choice.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Why a choice among three features is refused; empty if it is read.
std::string refusal_of_choice(const std::string& text) {
  const auto choice = read_list_choice(parse_json(text, "choice").value().as_object(), 3);
  if (!choice) CHECK(choice.error().code == Code::bad_data);
  return choice ? std::string() : choice.error().text;
}

std::string choice_of(const std::string& order, const std::string& gains, const std::string& lists,
                      const std::string& leads) {
  return R"({"queries":9,"order":)" + order + R"(,"gains":)" + gains + R"(,"settled":{"lists":)" + lists +
         R"(,"leads":)" + leads + "}}";
}

}  // namespace

TEST_CASE("A choice of lists is the same after it was written and read", "[fusion][model]") {
  ListChoice choice;
  choice.order = {2, 0};
  choice.gains = {0.5, 0.25};
  choice.queries = 7;
  choice.settled = {{1, 0.125}, {2, 0.0}};
  const auto back = read_list_choice(to_json(choice), 3);
  REQUIRE(back.has_value());
  CHECK(*back == choice);
  const std::vector<Feature> features = {
      {"a", FeatureKind::rank, 0}, {"b", FeatureKind::rank, 0}, {"c", FeatureKind::rank, 0}};
  choice.settled.erase(2);
  const std::string text = choice_text(choice, features);
  CHECK(text.find("7 queries") != std::string::npos);
  CHECK(text.find("  0.5000        0.125  c\n  0.2500            -  a\n") != std::string::npos);
}

TEST_CASE("A choice of lists that does not fit its model is refused with the member", "[fusion][model]") {
  CHECK(refusal_of_choice(choice_of("[0,2]", "[1,0.5]", "[1,2]", "[0.1,0.2]")).empty());
  CHECK(refusal_of_choice(choice_of("[]", "[]", "[]", "[]")).empty());
  const auto names = [](const std::string& text, const std::string& member) {
    return refusal_of_choice(text).starts_with("choice." + member);
  };
  CHECK(names(choice_of("[0,2]", "[1]", "[]", "[]"), "gains: must have as many"));
  CHECK(names(choice_of("[0]", "[1,1]", "[]", "[]"), "gains: must have as many"));
  CHECK(names(choice_of("[3]", "[1]", "[]", "[]"), "order: must name features"));
  CHECK(names(choice_of("[1,1]", "[1,1]", "[]", "[]"), "order: must name features"));
  CHECK(names(choice_of("[0]", "[1]", "[1,2]", "[1]"), "settled: must have as many"));
  CHECK(names(choice_of("[0]", "[1]", "[1]", "[1,2]"), "settled: must have as many"));
  CHECK(names(choice_of("[0]", "[1]", "[2,2]", "[1,2]"), "settled.lists: must rise"));
  CHECK(names(choice_of("[0]", "[1]", "[2,1]", "[1,2]"), "settled.lists: must rise"));
  CHECK(names(choice_of("[0]", "[\"1\"]", "[]", "[]"), "gains: must be finite numbers"));
  CHECK(names(choice_of("[0]", "[1]", "[1]", "[null]"), "settled.leads: must be finite numbers"));
  CHECK(names(R"({"queries":9,"order":[],"gains":[],"settled":[]})", "settled: must be an object"));
}
