#pragma once

#include <string>
#include <vector>

namespace metafuse::experiments {

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};

struct PlotText {
  std::string title;
  std::string x_name;
  std::string y_name;
  bool is_log_x = false;
};

/// An SVG line plot with axes, ticks and a legend. Requires a point somewhere; with is_log_x, x > 0.
std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text);

/// A page that holds a heading, a table as preformatted text and plots.
std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots);

}  // namespace metafuse::experiments
