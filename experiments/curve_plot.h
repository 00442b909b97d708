#pragma once

#include "evaluation/svg_plot.h"

namespace metafuse::experiments {

using evaluation::Curve;
using evaluation::html_page;
using evaluation::PlotText;
using evaluation::svg_plot;

}  // namespace metafuse::experiments
