#pragma once

#include "experiments/mpboost/trial.h"
#include "experiments/paper_report.h"
#include "experiments/published_sheets.h"

namespace metafuse::experiments::mpboost {

/// What the paper says of OHSUMED (fig. 3).
void claims_of_ohsumed(const Outcome& outcome, const PublishedNdcg& published, PaperReport& report);

/// What it says of its web data (figs 5 and 6).
void claims_of_web(const Outcome& outcome, PaperReport& report);

}  // namespace metafuse::experiments::mpboost
