#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fusion/model/fuse.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

const std::string kList = R"({"name":"a","kind":"rank","depth":0})";

struct ModelParts {
  std::string format = R"("format":"metafuse-model")";
  std::string version = R"("version":1)";
  std::string learner = R"("learner":"rankboost")";
  std::string features = "\"features\":[" + kList + "]";
  std::string unranked = R"("unranked":"absent")";
  std::string body = R"("body":{"weak_rankings":[]})";
  std::string rest = R"("training":{})";
};

/// Why a model file is refused; empty if it is read.
std::string refusal_of_model(const ModelParts& parts) {
  const auto model =
      parse_model("{" + parts.format + "," + parts.version + "," + parts.learner + "," + parts.features +
                      "," + parts.unranked + "," + parts.body + "," + parts.rest + "}",
                  "m.json");
  if (!model) CHECK(model.error().code == Code::bad_data);
  return model ? std::string() : model.error().text;
}

std::string refusal_of_features(const std::string& features) {
  ModelParts parts;
  parts.features = "\"features\":" + features;
  return refusal_of_model(parts);
}

bool tells(const std::string& refusal, const std::string& what) {
  INFO(refusal);
  return refusal.starts_with("m.json: ") && refusal.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("Each part of a model file that is missing or wrong is named", "[fusion][model]") {
  CHECK(refusal_of_model({}).empty());
  const auto refused = [](std::string ModelParts::*part, const std::string& text) {
    ModelParts parts;
    parts.*part = text;
    return refusal_of_model(parts);
  };
  CHECK(tells(refused(&ModelParts::format, R"("format":"model")"), "not a metafuse model"));
  CHECK(tells(refused(&ModelParts::format, R"("format":1)"), "not a metafuse model"));
  CHECK(tells(refused(&ModelParts::version, R"("version":0)"), "whole number of at least 1"));
  CHECK(tells(refused(&ModelParts::version, R"("version":"1")"), "whole number of at least 1"));
  CHECK(tells(refused(&ModelParts::version, R"("version":1000)"), "written by a later metafuse"));
  CHECK(refused(&ModelParts::unranked, R"("unranked":"null")").empty());
  for (const char* text : {R"("unranked":"present")", R"("unranked":null)", R"("ranked":"absent")"})
    CHECK(tells(refused(&ModelParts::unranked, text), R"("unranked" must be "absent" or "null")"));
  CHECK(tells(refused(&ModelParts::learner, R"("learner":null)"), R"("learner" must be a name)"));
  CHECK(tells(refused(&ModelParts::body, R"("body":[])"), R"("body" must be an object)"));
  CHECK(tells(refused(&ModelParts::rest, R"("choice":[])"), R"("choice" must be an object)"));
  CHECK(tells(refused(&ModelParts::rest, R"("relevance":1)"), R"("relevance" must be an object)"));
  CHECK(tells(refused(&ModelParts::rest, R"("choice":{})"), "choice.order: must be there"));
  CHECK(tells(refused(&ModelParts::rest, R"("choice":{"order":[1],"gains":[1],"queries":1,)"
                                         R"("settled":{"lists":[],"leads":[]}})"),
              "must name features of the model"));
}

TEST_CASE("Each part of a model's feature that is missing or wrong is named", "[fusion][model]") {
  CHECK(refusal_of_features("[" + kList + R"(,{"name":"b","kind":"value","depth":1000000000}])").empty());
  CHECK(tells(refusal_of_features("{}"), R"("features" must be a list)"));
  CHECK(tells(refusal_of_features("[7]"), "features[0] must be an object"));
  const auto second = [](const std::string& feature) {
    return refusal_of_features("[" + kList + ",{" + feature + "}]");
  };
  for (const char* text : {R"("kind":"rank","depth":0)", R"("name":"","kind":"rank","depth":0)",
                           R"("name":1,"kind":"rank","depth":0)"})
    CHECK(tells(second(text), "features[1] has no name"));
  for (const char* text : {R"("name":"b","depth":0)", R"("name":"b","kind":"score","depth":0)"})
    CHECK(tells(second(text), "features[1]: \"kind\" must be"));
  for (const char* text :
       {R"("name":"b","kind":"rank")", R"("name":"b","kind":"rank","depth":-1)",
        R"("name":"b","kind":"rank","depth":0.5)", R"("name":"b","kind":"rank","depth":1000000001)"})
    CHECK(tells(second(text), "features[1]: \"depth\" must be a whole number"));
  CHECK(tells(second(R"("name":"a","kind":"rank","depth":0)"), "features[1]: the name \"a\" occurs twice"));
}

TEST_CASE("Derived features follow lists of ranks alone", "[fusion][model]") {
  const std::string derived = R"({"name":"derived:lists","kind":"value","depth":0})";
  CHECK(refusal_of_features("[" + kList + "," + derived + "]").empty());
  CHECK(tells(refusal_of_features("[" + kList + R"(,{"name":"b","kind":"value","depth":0},)" + derived + "]"),
              "a derived feature is computed from ranks"));
  CHECK(tells(refusal_of_features(R"([{"name":"b","kind":"value","depth":0},)" + derived + "]"),
              "a derived feature is computed from ranks"));
}

TEST_CASE("Weights whose sums would overflow are refused", "[fusion][model][security]") {
  const auto refused = [](const char* learner, const std::string& body) {
    ModelParts parts;
    parts.learner = std::string(R"("learner":")") + learner + '"';
    parts.features = R"("features":[{"name":"a","kind":"value","depth":0}])";
    parts.body = "\"body\":" + body;
    return refusal_of_model(parts);
  };
  const auto step = [&](const char* alpha) {
    return refused("rankboost",
                   std::string(R"({"weak_rankings":[{"feature":0,"threshold":1e300,"q_default":0,)"
                               R"("alpha":)") +
                       alpha + "}]}");
  };
  CHECK(step("1e100").empty());
  CHECK(tells(step("1e101"), "\"alpha\" must be a number from -1e100 to 1e100"));
  const auto line = [&](const char* numbers) {
    return refused("rankboost",
                   std::string(R"({"value_rankings":[{"feature":0,"q_default":0,)") + numbers + "}]}");
  };
  CHECK(line(R"("low":0,"high":1e308,"alpha":-1e100)").empty());
  CHECK(tells(line(R"("low":0,"high":1,"alpha":-1e101)"), "alpha: must be from -1e100 to 1e100"));
  CHECK(tells(line(R"("low":-1e308,"high":1e308,"alpha":1)"), "out of range"));
  const auto term = [&](const char* unranked) {
    return refused("regression", std::string(R"({"offset":0,"terms":[{"feature":0,"weight":1,"default":)") +
                                     unranked + "}]}");
  };
  CHECK(term("1e100").empty());
  CHECK(tells(term("1e101"), "body.terms[0].default: must be from -1e100 to 1e100"));
}

TEST_CASE("Lists other than a model's are named, up to eight of a kind", "[fusion][model]") {
  const auto model_of = [](std::size_t lists) {
    Model model;
    for (std::size_t i = 0; i < lists; ++i)
      model.features.push_back({"m" + std::to_string(i), FeatureKind::rank, 0});
    return model;
  };
  const auto names_of = [](std::size_t lists) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < lists; ++i) names.push_back("n" + std::to_string(i));
    return names;
  };
  const auto refusal = [](const Model& model, const std::vector<std::string>& names) {
    return match_features(model, names, false).error().text;
  };
  const auto names = [](std::vector<std::string> some) { return some; };
  const std::vector<std::string> swapped = {"m1", "m0"};
  CHECK(match_features(model_of(2), swapped, false).value() == std::vector<std::size_t>{1, 0});
  CHECK(refusal(model_of(2), {"m1"}) ==
        "the lists do not match the model: missing m0; give the lists that the model was trained on");
  CHECK(match_features(model_of(2), names({"m1"}), true).value().at(1) == 0);
  CHECK(
      match_features(model_of(1), names({"m0", "n0"}), true).error().text ==
      "the lists do not match the model: not in the model n0; give the lists that the model was trained on");
  CHECK(refusal(model_of(1), {"n0"}).find("missing m0; not in the model n0;") != std::string::npos);
  CHECK(refusal(model_of(0), names_of(8)).find("n7;") != std::string::npos);
  CHECK(refusal(model_of(0), names_of(9)).find("n7 and 1 more;") != std::string::npos);
}
