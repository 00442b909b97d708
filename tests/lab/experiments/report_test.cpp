#include "lab/experiments/report.h"

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::lab::experiments;

TEST_CASE("Figures are printed, stored and drawn alike", "[experiments][report]") {
  Figures figures{"loss after", {"1", "10"}};
  figures.add("RankBoost", {0.5, 0.25});
  figures.add("RRF", {0.125, 0.125});
  CHECK(figures.table(2).text() ==
        "loss after     1    10\n"
        "RankBoost   0.50  0.25\n"
        "RRF         0.12  0.12\n\n");
  CHECK(figures.json() == JsonObject{{"RankBoost", {0.5, 0.25}}, {"RRF", {0.125, 0.125}}});
  CHECK(figures.of("RankBoost") == std::vector<double>{0.5, 0.25});
  CHECK(figures.curves({1.0, 10.0})[1].x == std::vector<double>{1.0, 10.0});
  CHECK(figures.curves(5.0, 2.0)[0].x == std::vector<double>{5.0, 7.0});
  CHECK(figures.curves(5.0, 2.0)[0].y == figures.of("RankBoost"));
}

TEST_CASE("A claim about many places is confirmed from its least number of them on",
          "[experiments][report]") {
  Report report;
  report.judge_count("ahead", 7, 10, 8);
  report.judge_count("ahead", 8, 10, 8);
  CHECK(report.claims[0].verdict == "not confirmed");
  CHECK(report.claims[1].verdict == "confirmed");
  CHECK(report.claims[1].evidence == "at 8 of 10");
}

TEST_CASE("Columns are added to a table row by row", "[experiments][report]") {
  Table table{{{"rank"}, {"Rb-d"}, {"Rb-c"}}};
  table.add_column("MAP", {"1", "2"});
  CHECK(table.rows == std::vector<std::vector<std::string>>{{"rank", "MAP"}, {"Rb-d", "1"}, {"Rb-c", "2"}});
  CHECK(means_of({{1.0, 2.0}, {3.0, 6.0}}) == std::vector<double>{2.0, 4.0});
  CHECK(mean_by(std::vector<int>{1, 2}, [](int value) { return 2.0 * value; }) == 3.0);
}
