#include "fusion/model/online/reranker.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/contract.h"

namespace metafuse::fusion::online {

Result<Reranker> Reranker::over(const Model& base, const RerankerOptions& options) {
  if (!(options.prior > 0.0 && std::isfinite(options.prior)))
    return fail(Code::usage, "a reranker's prior must be above 0");
  OnlineOptions online;
  online.method = OnlineMethod::oap_bpm;
  online.inputs = base.features.size() + 1;
  online.ranks = options.levels;
  online.rankers = options.rankers;
  online.tau = options.tau;
  online.seed = options.seed;
  TRY(auto model, OnlineModel::make(online));
  model.start_from(base.features.size(), options.prior);
  return Reranker(base.ranker, base.features.size(), std::move(model));
}

Result<Reranker> Reranker::resume(const Model& base, const JsonObject& state) {
  TRY(auto model, OnlineModel::read(state));
  if (model.options().method != OnlineMethod::oap_bpm || model.options().kernel.is_polynomial)
    return fail(Code::bad_data, "the state is not a reranker's");
  if (model.options().inputs != base.features.size() + 1)
    return fail(Code::bad_data, "the reranker's state is of " + std::to_string(model.options().inputs - 1) +
                                    " features, the model has " + std::to_string(base.features.size()) +
                                    "; start a new one");
  return Reranker(base.ranker, base.features.size(), std::move(model));
}

std::vector<double> Reranker::rows(const FeatureMatrix& search) const {
  require(search.feature_count() == features_, "a search has the base model's features");
  const std::size_t width = features_ + 1;
  const auto scores = base_->score(search);
  double largest = 0.0;
  for (const double score : scores) largest = std::max(largest, std::abs(score));
  const double factor = largest > 0.0 ? 1.0 / largest : 0.0;
  std::vector<double> rows(scores.size() * width, 0.0);
  for (std::size_t d = 0; d < scores.size(); ++d) {
    const auto parts = base_->contributions(search, d);
    for (std::size_t f = 0; f < parts.size(); ++f) rows[d * width + f] = parts[f] * factor;
    rows[d * width + features_] = scores[d] * factor;
  }
  return rows;
}

std::vector<double> Reranker::score(const FeatureMatrix& search) const {
  const std::size_t width = features_ + 1;
  const auto inputs = rows(search);
  std::vector<double> scores(search.document_count());
  for (std::size_t d = 0; d < scores.size(); ++d)
    scores[d] = model_.predict({&inputs[d * width], width}).score;
  return scores;
}

Result<void> Reranker::learn(const FeatureMatrix& search, std::span<const RerankerFeedback> feedback) {
  for (const RerankerFeedback& item : feedback) {
    if (item.document >= search.document_count())
      return fail(Code::bad_data, "feedback on a document that the search does not have");
    if (item.level < 1 || item.level > model_.options().ranks)
      return fail(Code::bad_data, "feedback of level " + std::to_string(item.level) + "; levels are 1 to " +
                                      std::to_string(model_.options().ranks));
  }
  const std::size_t width = features_ + 1;
  const auto inputs = rows(search);
  std::vector<double> examples;
  std::vector<int> levels;
  for (const RerankerFeedback& item : feedback) {
    const double* row = &inputs[item.document * width];
    examples.insert(examples.end(), row, row + width);
    levels.push_back(item.level);
  }
  TRY(auto learned, model_.learn(examples, levels));
  return {};
}

}  // namespace metafuse::fusion::online
