#include "fusion/model/votes/strong_classifier.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fusion/model/votes/calibration.h"
#include "fusion/model/votes/regression.h"

using namespace metafuse;
using namespace metafuse::fusion::votes;

namespace {

/// Grades 0 and 1; the first feature has two cuts, the second has one.
const std::string kTwoFeatures = R"({"grades":[0,1],"cuts":[[null,2.5],[1]]})";

GradedCuts two_features() {
  return read_graded_cuts(parse_json(kTwoFeatures, "body").value().as_object(), 2).value();
}

/// Why rounds over two_features() are refused; empty if they are read.
std::string refusal_of_rounds(const std::string& text) {
  const auto read = read_classifier(parse_json(text, "rounds").value().as_array(), two_features());
  if (!read) CHECK(read.error().code == Code::bad_data);
  return read ? std::string() : read.error().text;
}

std::string refusal_of_cuts(const std::string& body) {
  const auto read = read_graded_cuts(parse_json(body, "body").value().as_object(), 1);
  return read ? std::string() : read.error().text;
}

std::string terms_of(const std::string& terms) {
  return R"([{"alpha":1,"votes":[1,-1],"terms":)" + terms + "}]";
}

std::string nodes_of(const std::string& nodes) {
  return R"([{"alpha":1,"votes":[1,-1,-1,1],"nodes":)" + nodes + "}]";
}

std::string votes_of(const std::string& votes) {
  return R"([{"alpha":1,"terms":[],"votes":)" + votes + "}]";
}

}  // namespace

TEST_CASE("A vote classifier is the same after it was written and read", "[fusion][model]") {
  CHECK(to_text(to_json(two_features())) == kTwoFeatures);
  StrongClassifier classifier;
  classifier.rounds.push_back({0.5, {{{0, 1}, {1, 0}}, {}, {1, -1}}});
  classifier.rounds.push_back({0.25, {{}, {{{1, 0}, 1, ~1}, {{0, 0}, ~0, ~1}}, {1, -1, -1, 1}}});
  const auto back = read_classifier(to_json(classifier), two_features());
  REQUIRE(back.has_value());
  CHECK(*back == classifier);
}

TEST_CASE("A vote classifier refers to the features and cuts and nodes that exist", "[fusion][model]") {
  CHECK(refusal_of_rounds(terms_of("[[0,1],[1,0]]")).empty());
  for (const char* terms :
       {"[[2,0]]", "[[-1,0]]", "[[0,2]]", "[[1,1]]", "[[0,-1]]", "[[0]]", "[[0,0,0]]", "[0]", "[[0,0.5]]"})
    CHECK(refusal_of_rounds(terms_of(terms)).find("a term does not refer to") != std::string::npos);
  // The first of two nodes may have the second as its child, and each the leaves -1 and -2.
  CHECK(refusal_of_rounds(nodes_of("[[0,0,1,-1],[1,0,-2,-1]]")).empty());
  for (const char* nodes :
       {"[[0,0,0,-1],[1,0,-2,-1]]", "[[0,0,-1,0],[1,0,-2,-1]]", "[[0,0,2,-1],[1,0,-2,-1]]",
        "[[0,0,1,-1],[1,0,0,-1]]", "[[0,0,-3,-1]]", "[[0,0,-1,-3]]", "[[0,2,-1,-2]]", "[[0,0,-1]]"})
    CHECK(refusal_of_rounds(nodes_of(nodes)).find("a node has a cut or a child") != std::string::npos);
}

TEST_CASE("A vote classifier has a vote of 1 or -1 per class and leaf", "[fusion][model]") {
  CHECK(refusal_of_rounds(votes_of("[-1,1]")).empty());
  for (const char* votes : {"[0,1]", "[2,1]", "[1,-2]", "[1,1.0]", "[\"1\",1]"})
    CHECK(refusal_of_rounds(votes_of(votes)).find("a vote is not 1 or -1") != std::string::npos);
  for (const char* votes : {"[]", "[1]", "[1,1,1]", "[1,1,1,1]"})
    CHECK(refusal_of_rounds(votes_of(votes)).find("one vote per class") != std::string::npos);
  CHECK(refusal_of_rounds("[7]").find("a round must be an object") != std::string::npos);
  CHECK(refusal_of_rounds(R"([{"votes":[1,1],"terms":[]}])").find("alpha") != std::string::npos);
}

TEST_CASE("Numbers of votes that would make scores infinite are refused", "[fusion][model]") {
  CHECK(refusal_of_rounds(R"([{"alpha":1e101,"votes":[1,-1],"terms":[]}])") ==
        "body.rounds.alpha: must be from -1e100 to 1e100");
  const auto refusal = [](const std::string& numbers) {
    const std::string text =
        R"({"kind":"gaussian process","degree":1,"width":1,"weights":[1],"points":[0],)" + numbers + "}";
    const auto read = read_regression(parse_json(text, "r").value().as_object());
    return read ? std::string() : read.error().text;
  };
  CHECK(refusal(R"("length":1e-99,"offset":1e100,"low":0,"high":1e-99)").empty());
  CHECK(refusal(R"("length":1,"offset":1e101,"low":0,"high":1)") ==
        "body.members.offset: must be from -1e100 to 1e100");
  for (const char* small :
       {R"("length":1e-200,"offset":0,"low":0,"high":1)", R"("length":1,"offset":0,"low":0,"high":1e-200)"})
    CHECK(refusal(small) == "body.members: \"length\" or the range from \"low\" to \"high\" is almost 0");
}

TEST_CASE("Grades and cuts of a model file have their limits", "[fusion][model]") {
  const auto grades = [](const std::string& list) {
    return refusal_of_cuts(R"({"cuts":[[1]],"grades":)" + list + "}");
  };
  std::string sixty = "0";
  for (int grade = 1; grade < 60; ++grade) sixty += "," + std::to_string(grade);
  CHECK(grades("[" + sixty + "]").empty());
  CHECK(grades("[0,60]").empty());
  for (const std::string& list :
       {std::string("[1]"), std::string("[1,0]"), std::string("[0,61]"), "[" + sixty + ",60]"})
    CHECK(grades(list) == "body.grades: must be 2 to 60 ascending numbers");
  const auto cuts = [](const std::string& lists) {
    return refusal_of_cuts(R"({"grades":[0,1],"cuts":)" + lists + "}");
  };
  std::string most = "0";
  for (int cut = 1; cut < 255; ++cut) most += "," + std::to_string(cut);
  CHECK(cuts("[[" + most + "]]").empty());
  CHECK(cuts("[[" + most + ",255]]") == "body.cuts: must be lists of at most 255 numbers");
  CHECK(cuts("[7]") == "body.cuts: must be lists of at most 255 numbers");
  CHECK(cuts("[[1],[2]]") == "body.cuts: 2 lists for 1 features");
  CHECK(cuts("[[\"1\"]]") == "body.cuts: must be finite numbers");
  CHECK(cuts("[[1,1]]") == "body.cuts: not ascending");
  CHECK(cuts("[[1,null]]") == "body.cuts: not ascending");
}

TEST_CASE("Every kind of calibration is the same after it was written and read", "[fusion][model]") {
  const auto read_back = [](const Calibration& calibration) {
    const auto back = read_calibration(parse_json(to_text(to_json(calibration)), "c").value().as_object());
    REQUIRE(back.has_value());
    CHECK(back->name == calibration.name);
    CHECK(back->is_constant() == calibration.is_constant());
    CHECK(to_text(to_json(*back)) == to_text(to_json(calibration)));
    return *back;
  };
  Calibration constant;
  constant.name = "constant";
  constant.constant = 0.25;
  CHECK(read_back(constant).constant == 0.25);
  Calibration sigmoid;
  sigmoid.name = "LS";
  sigmoid.sigmoid = Sigmoid{2.0, -0.5};
  const Calibration back = read_back(sigmoid);
  CHECK(back.sigmoid->a == 2.0);
  CHECK(back.sigmoid->b == -0.5);
}

TEST_CASE("A polynomial of more monomials than weights is refused before they are made", "[fusion][model]") {
  const auto refusal = [](std::size_t width, int degree, const std::string& weights) {
    const std::string text = R"({"kind":"polynomial","degree":)" + std::to_string(degree) + R"(,"width":)" +
                             std::to_string(width) + R"(,"weights":[)" + weights +
                             R"(],"points":[],"length":1,"offset":0,"low":0,"high":1})";
    const auto read = read_regression(parse_json(text, "r").value().as_object());
    return read ? std::string() : read.error().text;
  };
  for (std::size_t width = 1; width < 5; ++width)
    for (int degree = 1; degree < 6; ++degree) {
      std::string weights = "1";
      for (std::size_t i = 1; i < monomials(width, degree).size(); ++i) weights += ",1";
      CHECK(refusal(width, degree, weights).empty());
    }
  CHECK(refusal(2, 2, "1,1,1,1,1") == "body.members.weights: do not fit the regression's kind");
  CHECK(refusal(1000, 5, "1") == "body.members.weights: do not fit the regression's kind");
}
