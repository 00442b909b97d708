#include "fetchers/health/repair.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;

TEST_CASE("A repair must find a third of the known results and two at least", "[fetchers][health]") {
  AnswerRules old;
  old.results = "results";
  old.url.paths = {"url"};
  old.title.paths = {"title"};
  const auto url = [](int i) { return "http://known.example/page" + std::to_string(i); };
  const auto title = [](int i) { return "The known title number " + std::to_string(i); };
  // the answer names two of the known results, under other keys
  std::string body;
  for (const int i : {1, 2})
    body += (body.empty() ? "" : ",") + (R"({"link":")" + url(i) + R"(","name":")" + title(i) + "\"}");
  body = R"({"items":[)" + body + "]}";
  const auto is_repaired = [&](int known) {
    std::vector<Hit> examples(static_cast<std::size_t>(known));
    for (int i = 0; i < known; ++i) {
      examples[static_cast<std::size_t>(i)].url = url(i + 1);
      examples[static_cast<std::size_t>(i)].title = title(i + 1);
    }
    return repaired_rules(old, body, {"http://e.example/", "application/json", ""}, examples).has_value();
  };
  CHECK_FALSE(is_repaired(1));
  CHECK(is_repaired(2));
  CHECK(is_repaired(6));
  CHECK_FALSE(is_repaired(7));
}
