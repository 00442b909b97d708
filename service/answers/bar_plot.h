#pragma once

#include <string>
#include <vector>

namespace metafuse::service {

/// One row of a bar plot: a bar to `value` with a mark at `mark`.
struct Bar {
  std::string name;
  double value = 0;
  double mark = 0;
};

/// An SVG of horizontal bars, to stand inside a page: it takes the page's text colour and needs no style.
///
/// in: title - what screen readers say; bars - values and marks >= 0
std::string bar_plot(const std::vector<Bar>& bars, const std::string& title, const std::string& unit);

/// An SVG of an interval within [0, 1] with its middle marked, against one half.
std::string interval_plot(double low, double share, double high, const std::string& title);

}  // namespace metafuse::service
