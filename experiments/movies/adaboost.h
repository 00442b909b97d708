#pragma once

#include <cstddef>

#include "fusion/data/training_set.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::experiments::movies {

/// AdaBoost (Freund, Schapire 1997) on "relevant against the rest" over the weak rankings of RankBoost with a
/// learned q_default: what sec. 7 of Freund et al. 2003 would compare RankBoost's ordering with. The
/// classification weight orders documents.
///
/// in: level - the lowest relevant grade
/// out: weak rankings with the weights that order as the classifier does; none when all documents are of one
/// class
std::vector<fusion::WeakRanking> adaboost(const fusion::TrainingSet& set, double level, std::size_t rounds);

}  // namespace metafuse::experiments::movies
