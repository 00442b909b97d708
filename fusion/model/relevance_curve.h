#pragma once

// What a score means: a non-decreasing curve from a model's scores to the share of documents with such a
// score that are relevant. It is fitted on held-out judged queries (fusion/training/calibration.h), kept in
// the model file, and read when results are served.

#include <cstddef>
#include <span>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace metafuse::fusion {

/// Straight lines between points; constant below the first score and above the last. Valid once made: at
/// least one point, scores strictly rising, values within [0, 1] that never fall, everything finite.
struct RelevanceCurve {
  std::vector<double> scores;
  std::vector<double> values;

  friend bool operator==(const RelevanceCurve&, const RelevanceCurve&) = default;
};

/// The share of relevant documents at a score, within [0, 1].
/// cost:   O(log points)
double relevance_at(const RelevanceCurve& curve, double score);

/// {"scores":[...],"values":[...]}: the optional member "relevance" of a model file.
JsonObject to_json(const RelevanceCurve& curve);

/// errors: bad_data that names the member: of the wrong type, of different lengths, empty, more than 10,000
///         points, not finite, out of order, outside of [0, 1]
Result<RelevanceCurve> read_relevance_curve(const JsonObject& object);

/// The non-decreasing values with the least weighted sum of squared differences from those given (isotonic
/// regression): as long as a block's mean is not above that of the block before it, both become one block.
///
/// in:     weights - one per value, above 0
/// cost:   O(values)
/// source: Ayer, Brunk, Ewing, Reid, Silverman 1955 (pool adjacent violators)
std::vector<double> pool_adjacent_violators(std::span<const double> values, std::span<const double> weights);

/// A document's score, and whether the document is relevant.
struct ScoredRelevance {
  double score = 0.0;
  bool is_relevant = false;
};

/// The curve that fits documents best, by isotonic regression of groups of neighbours: at least ten documents
/// each, so that no single document is shown as certain, and at most 1,000 groups. Documents of equal score
/// are in one group.
///
/// in:     documents - in any order, at least one, scores finite
/// cost:   O(documents log documents)
RelevanceCurve fit_relevance(std::vector<ScoredRelevance> documents);

}  // namespace metafuse::fusion
