#pragma once

#include <string>
#include <vector>

namespace metafuse::evaluation {

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  bool is_step = false;  ///< constant up to the next x, as a step function is
};

struct PlotText {
  std::string title;
  std::string x_name;
  std::string y_name;
  bool is_log_x = false;
};

/// An SVG line plot with axes, round ticks and a legend, to stand inside a page: it takes the page's text
/// colour, needs no style sheet, and curves differ by dashes as well as by colour. Curves of more than 400
/// points are thinned.
///
/// Requires a point somewhere; with is_log_x, x > 0.
std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text);

/// A page that holds a heading, tables as preformatted text, sentences as a list and plots, in one file.
std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots, const std::vector<std::string>& sentences = {});

}  // namespace metafuse::evaluation
