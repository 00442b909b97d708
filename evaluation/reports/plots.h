#pragma once

#include <string>
#include <utility>
#include <vector>

namespace metafuse::evaluation {

/// A number as SVG's attributes take it.
/// in:     decimals - digits after the point
std::string svg_number(double value, int decimals = 1);

/// A number for people: four significant digits, no negative zero.
std::string short_svg_number(double value);

/// The opening tag of a picture that takes the page's text colour and needs no style sheet, with its title.
std::string svg_opened(double width, double height, const std::string& title, int font_size = 12);

/// Words at a place.
/// in:     anchor - "start", "middle" or "end"
std::string svg_text(double x, double y, const char* anchor, const std::string& words);

/// A rectangle.
/// in:     look - attributes such as `fill="#1f7fc4"`; inside - elements within it, escaped already
std::string svg_bar(double x, double y, double width, double height, const std::string& look,
                    const std::string& inside = {});

/// The smallest and the largest of what it took.
struct PlotRange {
  double low = 1e300;
  double high = -1e300;

  void take(double value);
  /// Where a value lies between low and high; one half when they are the same.
  double share(double value) const;
};

/// 1, 2 or 5 times a power of ten, so that about five steps fill the range.
double round_step(const PlotRange& range);

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  bool is_step = false;                  ///< constant up to the next x, as a step function is
  std::vector<double> half_widths = {};  ///< half of each point's interval; empty: none are drawn
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

/// A plot as one <figure> with inline SVG: bars from 0, one per value, in the order given:
/// per-query differences.
std::string bar_plot(const std::string& caption, const std::string& x_label, const std::string& y_label,
                     const std::vector<std::pair<std::string, double>>& bars);

}  // namespace metafuse::evaluation
