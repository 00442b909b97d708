#pragma once

#include <string>
#include <utility>
#include <vector>

namespace metafuse::evaluation {

/// A plot as one <figure> with inline SVG: bars from 0, one a value, in the order given: per-query
/// differences.
std::string bar_plot(const std::string& caption, const std::string& x_label, const std::string& y_label,
                     const std::vector<std::pair<std::string, double>>& bars);

}  // namespace metafuse::evaluation
