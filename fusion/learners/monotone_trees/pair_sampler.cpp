#include "fusion/learners/monotone_trees/pair_sampler.h"

#include <algorithm>

#include "core/contract.h"
#include "core/portable_math.h"

namespace metafuse::fusion::monotone_trees {

PairSampler::PairSampler(const rankboost::Feedback& feedback, std::span<const std::size_t> queries)
    : feedback_(feedback) {
  require(feedback.pairs.empty(), "feedback from grades only");
  for (const std::size_t place : queries) add_query(place);
}

void PairSampler::add_query(std::size_t place) {
  const rankboost::QueryFeedback& source = feedback_.queries[place];
  Query query{rows_.size(), 0, place, 1.0, {}};
  for (std::uint32_t c = 0; c < source.classes; ++c) {
    query.class_at.push_back(rows_.size());
    for (std::size_t row = source.begin; row < source.end; ++row)
      if (feedback_.classes[row] == c) rows_.push_back(row);
  }
  query.end = rows_.size();
  query.class_at.push_back(query.end);
  const auto members = [&](std::size_t c) {
    return static_cast<double>(query.class_at[c + 1] - query.class_at[c]);
  };
  double drawn = 0.0;
  double wanted = 0.0;
  for (std::size_t a = 0; a < source.classes; ++a)
    for (std::size_t b = a + 1; b < source.classes; ++b) {
      const double weight =
          feedback_.weights[source.table + a * source.classes + b] * members(a) * members(b);
      const auto all = static_cast<double>(query.end - query.begin);
      drawn += weight * (1.0 / (all - members(a)) + 1.0 / (all - members(b)));
      wanted += weight;
    }
  query.scale = wanted / drawn;
  queries_.push_back(std::move(query));
}

void PairSampler::draw(Random& random, std::span<const double> scores, std::span<Push> pushes) const {
  std::fill(pushes.begin(), pushes.end(), Push{});
  for (const Query& query : queries_) draw_query(query, random, scores, pushes);
}

void PairSampler::draw_query(const Query& query, Random& random, std::span<const double> scores,
                             std::span<Push> pushes) const {
  const rankboost::QueryFeedback& source = feedback_.queries[query.place];
  for (std::size_t c = 0; c < source.classes; ++c) {
    const std::size_t begin = query.class_at[c];
    const std::size_t end = query.class_at[c + 1];
    const std::size_t others = (query.end - query.begin) - (end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t j = query.begin + static_cast<std::size_t>(random.below(others));
      if (j >= begin) j += end - begin;
      const bool is_above = j < begin;
      const auto other = static_cast<std::size_t>(
          std::upper_bound(query.class_at.begin(), query.class_at.end(), j) - query.class_at.begin() - 1);
      const std::size_t lower = is_above ? other : c;
      const std::size_t upper = is_above ? c : other;
      const double weight = query.scale * feedback_.weights[source.table + lower * source.classes + upper];
      Push& high = pushes[is_above ? i : j];
      Push& low = pushes[is_above ? j : i];
      const double gap = is_above ? scores[i] - scores[j] : scores[j] - scores[i];
      const double wrong = 1.0 / (1.0 + portable_exp(gap));
      high.potential += weight * wrong;
      low.potential -= weight * wrong;
      // (d1 - d0)^2 <= 2 d1^2 + 2 d0^2 bounds the pair's second derivative by one of each document.
      const double curvature = 2.0 * weight * wrong * (1.0 - wrong);
      high.curvature += curvature;
      low.curvature += curvature;
    }
  }
}

}  // namespace metafuse::fusion::monotone_trees
