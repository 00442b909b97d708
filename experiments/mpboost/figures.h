#pragma once

#include "experiments/mpboost/trial.h"
#include "experiments/paper_report.h"
#include "experiments/published_sheets.h"

namespace metafuse::experiments::mpboost {

/// The table and the curves of one data set (figs 3, 5 and 6).
void describe(const Outcome& outcome, const PublishedNdcg& published, PaperReport& report);

/// The directed distances themselves (fig. 2).
void distance_figure(PaperReport& report);

}  // namespace metafuse::experiments::mpboost
