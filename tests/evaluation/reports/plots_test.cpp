#include "evaluation/reports/plots.h"

#include <catch2/catch.hpp>

using namespace metafuse::evaluation;

TEST_CASE("A plot scales its points and thins long curves and escapes its texts", "[evaluation][svg_plot]") {
  Curve line{"a<b", {}, {}};
  for (int i = 0; i <= 5000; ++i) {
    line.x.push_back(i);
    line.y.push_back(i * 0.5);
  }
  const std::string svg = svg_plot({line, {"step", {0, 5000}, {0, 2500}, true}}, {"t & u", "x", "y"});
  CHECK(svg.find("a&lt;b") != std::string::npos);
  CHECK(svg.find("t &amp; u") != std::string::npos);
  CHECK(svg.find(" 64.0,332.0 ") == std::string::npos);             // the list starts without a blank
  CHECK(svg.find("points=\"64.0,332.0 ") != std::string::npos);     // lowest left
  CHECK(svg.find("584.0,52.0 \"") != std::string::npos);            // highest right, the last point of both
  CHECK(svg.find("584.0,332.0 584.0,52.0 ") != std::string::npos);  // a step goes right, then up
  CHECK(svg.size() < 20'000);
  CHECK(svg.find("style") == std::string::npos);
}

TEST_CASE("A plot of values that differ by one rounding has a few marks", "[evaluation][svg_plot]") {
  const double next = 0.6000000000000001;
  const std::string curves = svg_plot({{"a", {5, 10, 15}, {0.6, next, 0.6}}}, {"t", "x", "y"});
  CHECK(curves.size() < 10'000);
  CHECK(svg_plot({{"a", {1, 2}, {1e-320, 2e-320}}}, {"t", "x", "y"}).size() < 10'000);
}
