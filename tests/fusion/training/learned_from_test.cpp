#include "fusion/training/learned_from.h"

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fusion;

TEST_CASE("A model says what it learned from beside its own domain's people", "[fusion][learned_from]") {
  JsonObject training{{"judged_queries", 12},
                      {"prior", JsonObject{{"models", JsonArray{"books", "plays"}}}},
                      {"pooled", JsonObject{{"weight", 0.05}, {"queries", 54}}}};
  note_judge({"good", 0.3, false, true, 12, 9}, training);  // three of its queries have no relevant document
  CHECK(Json(learned_from(training)) ==
        parse_json(R"({"judged_queries":3,"other_domains":{"start":2,"pooled_queries":54,"weight":0.05},)"
                   R"("judge":{"model":"good","weight":0.3,"only":false,"calibrated":true,"queries":12}})",
                   "expected")
            .value());
  CHECK(learned_from_text(training) ==
        "the models of 2 other domains, 54 judged queries of other domains (at a weight of 0.05), 12 queries "
        "that only the language model good judged");
}

TEST_CASE("A model of its own domain's judgments has nothing to say", "[fusion][learned_from]") {
  CHECK(learned_from({}).empty());
  CHECK(learned_from_text({{"judged_queries", 12}}).empty());
  JsonObject training{{"pooled", JsonObject{{"weight", 0.0}, {"queries", 54}}}};  // measured, and left
  note_judge({"", 0.3, false, false, 0}, training);
  CHECK(learned_from(training).empty());
}

TEST_CASE("What a model's file says of its origins may be anything", "[fusion][learned_from]") {
  for (const char* hostile : {R"({"judged_queries":"many","prior":7,"pooled":[1],"judge":"x"})",
                              R"({"prior":{"models":{}},"pooled":{"weight":"1"},"judge":{"model":5}})"}) {
    const auto training = parse_json(hostile, "t").value();
    CHECK(learned_from(training.as_object()).empty());
    CHECK(learned_from_text(training.as_object()).empty());
  }
}
