#pragma once

// Features as weak rankings, and the lines that they add up to.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// h(x) = f(x), scaled to [0, 1] by the training range; q_default if unranked (Freund et al. 2003, sec. 4,
/// the first weak learner). A value outside the range counts as the nearer end of the range.
struct ValueRanking {
  std::uint32_t feature = 0;
  double low = 0.0;
  double high = 0.0;
  double q_default = 0.0;
  double alpha = 0.0;
};

/// What one feature contributes to a score: the sum of by_default times the scaled value, or by_default[1] if
/// the document is unranked.
struct ValueLine {
  double low = 0.0;
  double high = 0.0;
  double by_default[2] = {0.0, 0.0};  ///< sum of the alphas with q_default 0 and 1
  bool is_used = false;

  double at(double value) const;
  double unranked() const { return by_default[1]; }
};

/// The line of every feature.
std::vector<ValueLine> value_lines(std::span<const ValueRanking> rankings, std::size_t features);

/// The lines in words, for people.
std::string describe_lines(std::span<const ValueLine> lines, const std::vector<Feature>& features);

/// The field "value_rankings" of a model's body: [{"feature","low","high","q_default","alpha"}...], in the
/// order of the rounds.
JsonArray value_rankings_json(std::span<const ValueRanking> rankings);

/// errors: bad_data naming the field
Result<std::vector<ValueRanking>> read_value_rankings(const JsonObject& body,
                                                      const std::vector<Feature>& features);

}  // namespace metafuse::fusion
