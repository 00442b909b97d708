#pragma once

// VSIM, a mean of features weighted by their cosines with the grades, and VSIM as a feature of any learner.

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/linear_ranker.h"

namespace metafuse::fusion::similarity {

/// A feature seen as a viewer's ratings (Freund et al. 2003, sec. 6.2.1), over all documents of the set, in
/// feedback or not.
struct Viewer {
  std::size_t rated = 0;
  double mean = 0.0;       ///< 0 if nothing is rated
  double deviation = 0.0;  ///< standard deviation; 0 if all ratings are equal
  double lowest = 0.0;
  std::vector<double> values;  ///< distinct, ascending
};

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix);

/// Which features count as viewers: all, or all but derived ones.
enum class Viewers { features, lists };

/// VSIM: predicts a grade as the mean grade plus the deviations of the features from their means, weighted by
/// the cosines between the ratings and the grades. A rank counts as the rating D + 1 - rank, where D is the
/// depth of its list or, without one, the deepest rank that occurs; the paper's ratings are positive, and
/// cosines of negated ranks would be negative. A feature that has no document in common with the grades has
/// weight 0. If all weights are 0, all documents tie.
///
/// errors: bad_data: no query has a crucial pair
/// source: Breese, Heckerman, Kadie 1998, by Freund et al. 2003, sec. 6.2.3
Result<LinearRanker> vector_similarity(const TrainingSet& set, Viewers which = Viewers::features);

/// The same scores, except that each document in feedback has the one predicted from the grades of the
/// others. A learner that is given VSIM as a feature must see it as it will be on documents without grades;
/// scores in which a document's own grade takes part look better than they are.
///
/// in:   scores - those of vector_similarity() on all documents of the set
/// cost: O(documents in feedback x features)
std::vector<double> leave_one_out(const TrainingSet& set, std::vector<double> scores,
                                  Viewers which = Viewers::features);

/// Wraps a learner so that it also accepts sets with the feature "derived:vsim": VSIM as one of the weak
/// rankings, as Freund et al. 2003 propose at the end of sec. 6.2.6. The feature's values depend on the
/// judgments. So they are computed when a model is trained, from its training documents alone. The learner
/// is given the scores of leave_one_out() over the lists. The model stores the similarities beside its ranker
/// and computes vector_similarity() wherever it scores. For sets without this feature nothing changes.
///
/// Body: {"similarity":{...as vector-similarity's...},"ranker":{...as the learner's...}}
/// errors: those of vector_similarity; usage: queries spread over several processes
Learner with_similarity_feature(Learner learner);

/// Reads the body of such a model, or, if the features hold no "derived:vsim", a body as it is.
/// errors: bad_data, naming the field; those of `read`
Result<SharedRanker> read_with_similarity(const ReadRanker& read, const JsonObject& body,
                                          const std::vector<Feature>& features);

}  // namespace metafuse::fusion::similarity
