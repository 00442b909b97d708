#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::baselines {

/// A learner that also takes sets with the feature "derived:vsim": VSIM as one of the weak rankings, as
/// Freund et al. 2003 propose at the end of sec. 6.2.6. The feature's values depend on the judgments, so they
/// are made when a model is trained, from its training documents alone: the scores of vector_similarity()
/// over the lists. The model keeps the similarities beside its ranker and fills the feature in wherever it
/// scores. Without that feature nothing changes.
///
/// body: {"similarity":{...as vector-similarity's...},"ranker":{...as the learner's...}}
/// errors: those of vector_similarity; usage: queries spread over several processes
Learner with_similarity_feature(Learner learner);

}  // namespace metafuse::fusion::baselines
