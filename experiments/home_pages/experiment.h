#pragma once

#include <string>

#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments::home_pages {

/// The paper's home-page task (sec. 2.1 and 6.1) on a Debian package index: RankBoost against unsupervised
/// fusion and every search template alone, four-fold cross-validated, over five samples of 1,200 base
/// queries.
///
/// in:     options.data - holds packages.txt, what `apt-cache dumpavail` prints; options.seed - s: the
/// samples
///         are drawn with seeds s+1 to s+5 (the templates were designed on seed 1 alone); quick: one sample
/// out:    the table: means and 95 % intervals over the samples, and each sample's average ranks;
///         home-pages.json in options.output
/// errors: no_input, bad_data: the package index; those of the index and of the templates
/// cost:   about 10 s a sample on two cores
Result<std::string> run_home_pages(const ExperimentOptions& options);

}  // namespace metafuse::experiments::home_pages
