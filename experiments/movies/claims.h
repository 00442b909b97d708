#pragma once

#include "experiments/movies/figure.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::movies {

/// Whether one method beats another in the mean of every measure at the settings from `first` to `last`.
Claim beats(const Figure& figure, Method a, Method b, std::size_t first, std::size_t last,
            const std::string& where);
/// Whether RankBoost gains most from the first to the last setting.
Claim best_slope(const Figure& figure);

/// What the paper says of figs. 5 and 7.
void claims_of_counts(const Figure& figure, PaperReport& report);
void claims_of_feedback(const Figure& figure, PaperReport& report);
/// The questions of sec. 6.2.6 and 7.
void claims_of_proposals(const Figure& counts, const Figure& bipartite, PaperReport& report);

}  // namespace metafuse::experiments::movies
