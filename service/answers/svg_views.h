#pragma once

#include <string>
#include <vector>

#include "evaluation/reports/plots.h"
#include "service/answers/page.h"

// Plots of pages: SVG made by the server, each with its numbers in a table behind it (the part PLOT of a
// page's template).

namespace metafuse::service {

/// A number with so many digits after the point.
std::string decimals(double number, int count);

/// A plot of curves, and the table of their points, thinned to sixty rows. Nothing without points.
void add_plot(View& page, const std::vector<evaluation::Curve>& curves, const evaluation::PlotText& text);

/// One row of a bar plot: a bar to `value` with a mark at `mark`.
struct Bar {
  std::string name;
  double value = 0;  ///< >= 0
  double mark = 0;   ///< >= 0
  std::string text;  ///< beside the bar
};

/// An SVG of horizontal bars.
///
/// in: title - what screen readers say; has_marks - else the rows' marks are not drawn
std::string bars_svg(const std::vector<Bar>& bars, const std::string& title, bool has_marks = true);

/// An SVG of rows with a point and its interval each.
struct Interval {
  std::string name;
  double low = 0;
  double middle = 0;
  double high = 0;
};
std::string intervals_svg(const std::vector<Interval>& rows, const std::string& title);

/// A picture with a table of its own behind it.
struct PlotTable {
  std::string title;
  std::string first_name;          ///< of the rows' names
  std::vector<std::string> names;  ///< of the other columns
  std::vector<std::string> row_names;
  std::vector<std::vector<std::string>> cells;  ///< by row
};
void add_picture(View& page, const std::string& svg, const PlotTable& table);

}  // namespace metafuse::service
