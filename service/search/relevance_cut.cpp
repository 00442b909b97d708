#include "service/search/relevance_cut.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "fusion/training/calibration.h"

namespace metafuse::service {
namespace {

/// What people decided counts more than what the model thinks.
bool is_below(const FusedResult& result, double least) {
  const bool is_wanted = result.decided != Decided::nothing || result.grade.value_or(0) > 0;
  return !is_wanted && result.relevance.value_or(0.0) < least;
}

double relevance_of(const FusedResult& result) {
  return result.grade == 0 ? 0.0 : result.relevance.value_or(1.0);
}

}  // namespace

Result<void> check_min_relevance(const LoadedDomain& domain, double min_relevance) {
  if (min_relevance <= 0.0 || (domain.model && domain.model->relevance)) return {};
  return fail(
      Code::usage,
      fmt::format("min_relevance: results of the domain {} have no relevance, because {}; judge at least "
                  "{} queries and train with --calibrate, or leave min_relevance out",
                  domain.domain.name,
                  domain.model ? "its model was not calibrated" : "it has no trained model",
                  fusion::kFewestCalibrated));
}

SharedAnswer with_min_relevance(SharedAnswer answer, double min_relevance) {
  if (min_relevance <= 0.0) return answer;
  auto out = std::make_shared<SearchAnswer>(*answer);
  const std::size_t shown = out->results.size() - out->hidden;
  out->cut = RelevanceCut{min_relevance, 0, 0.0};
  std::vector<std::size_t> order, below;
  for (std::size_t i = 0; i < shown; ++i) {
    const FusedResult& result = answer->results[i];
    if (!is_below(result, min_relevance)) {
      order.push_back(i);
      continue;
    }
    below.push_back(i);
    out->cut->best = std::max(out->cut->best, result.relevance.value_or(0.0));
  }
  out->cut->left_out = below.size();
  order.insert(order.end(), below.begin(), below.end());
  out->reorder(order);
  out->hidden += below.size();
  return out;
}

std::vector<double> unit_scores(const SearchAnswer& answer, const std::vector<std::size_t>& positions) {
  const bool is_calibrated = std::ranges::any_of(
      positions, [&](std::size_t at) { return answer.results[at].relevance.has_value(); });
  std::vector<double> out(positions.size());
  double least = 0.0;
  for (std::size_t i = positions.size(); i-- > 0;) {
    const FusedResult& result = answer.results[positions[i]];
    out[i] = is_calibrated ? relevance_of(result) : result.relative_score;
    if (is_calibrated) out[i] = least = std::max(least, out[i]);
  }
  return out;
}

void add_relevance_cut(const SearchAnswer& answer, JsonObject& out) {
  if (!answer.cut) return;
  out["no_good_answer"] = answer.has_no_good_answer();
  out["below_min_relevance"] = answer.cut->left_out;
}

}  // namespace metafuse::service
