#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::baselines {

/// Wraps a learner so that it also accepts sets with the feature "derived:vsim": VSIM as one of the weak
/// rankings, as Freund et al. 2003 propose at the end of sec. 6.2.6. The feature's values depend on the
/// judgments. So they are computed when a model is trained, from its training documents alone: they are the
/// scores of vector_similarity() over the lists. The model stores the similarities beside its ranker and
/// computes the feature wherever it scores. For sets without this feature nothing changes.
///
/// Body: {"similarity":{...as vector-similarity's...},"ranker":{...as the learner's...}}
/// errors: those of vector_similarity; usage: queries spread over several processes
Learner with_similarity_feature(Learner learner);

}  // namespace metafuse::fusion::baselines
