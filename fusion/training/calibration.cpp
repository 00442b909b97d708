#include "fusion/training/calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/json_members.h"
#include "evaluation/reports/plots.h"
#include "fusion/learners/common/validation.h"
#include "fusion/model/relevance_curve.h"
#include "fusion/training/held_out.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBins = 10;

bool is_relevant_row(const TrainingSet& set, std::size_t row) {
  return is_relevant(set, set.grades[row]);
}

/// Whether each query has judged documents.
std::vector<bool> are_judged(const TrainingSet& set) {
  std::vector<bool> has_pairs(set.queries.size(), false);
  for (const WeightedPair& pair : set.pairs) {
    const auto after = std::ranges::upper_bound(set.queries, pair.below, {}, &QueryRange::begin);
    has_pairs[static_cast<std::size_t>(after - set.queries.begin()) - 1] = true;
  }
  std::vector<bool> out(set.queries.size(), false);
  for (std::size_t q = 0; q < out.size(); ++q) {
    bool has_relevant = false;
    bool has_judged = false;
    for (std::size_t row = set.queries[q].begin; row < set.queries[q].end; ++row) {
      has_relevant = has_relevant || is_relevant_row(set, row);
      has_judged = has_judged || set.in_feedback[row] != 0;
    }
    const bool has_clicks = has_pairs[q] || set.queries[q].id.starts_with(kClickedRow);
    out[q] = has_judged && (has_relevant || !has_clicks);
  }
  return out;
}

/// The held-out documents of one fold, on the scale of the model.
struct HeldOutFold {
  std::vector<ScoredRelevance> documents;
};

Result<std::vector<HeldOutFold>> score_folds(const TrainingRequest& request, const Learner& learner,
                                             const TrainingResult& result, const std::vector<bool>& judged) {
  std::vector<HeldOutFold> folds(kHeldOutFolds);
  TRY_VOID(hold_out(request, learner, result, judged, [&](const HeldOut& out) {
    const std::vector<double> scores = out.ranker.score(out.unseen.matrix);
    for (std::size_t row = 0; row < scores.size(); ++row)
      if (out.unseen.in_feedback[row] != 0)
        folds[out.fold].documents.push_back({out.on_scale(scores[row]), is_relevant_row(out.unseen, row)});
  }));
  return folds;
}

/// All documents but those of one fold; all of them for a fold that does not exist.
std::vector<ScoredRelevance> all_but(const std::vector<HeldOutFold>& folds, std::size_t left_out) {
  std::vector<ScoredRelevance> out;
  for (std::size_t fold = 0; fold < folds.size(); ++fold)
    if (fold != left_out) out.insert(out.end(), folds[fold].documents.begin(), folds[fold].documents.end());
  return out;
}

/// Documents whose predicted relevance is in one tenth of [0, 1].
struct Bin {
  double predicted = 0.0;
  double relevant = 0.0;
  double count = 0.0;
};

JsonObject report_of(const std::vector<HeldOutFold>& folds, std::size_t queries) {
  std::vector<Bin> bins(kBins);
  double squares = 0.0, relevant = 0.0, count = 0.0;
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    if (folds[fold].documents.empty()) continue;
    const RelevanceCurve curve = fit_relevance(all_but(folds, fold));
    for (const ScoredRelevance& each : folds[fold].documents) {
      const double predicted = relevance_at(curve, each.score);
      const double actual = each.is_relevant ? 1.0 : 0.0;
      Bin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(predicted * kBins))];
      bin.predicted += predicted;
      bin.relevant += actual;
      ++bin.count;
      squares += (predicted - actual) * (predicted - actual);
      relevant += actual;
      ++count;
    }
  }
  double error = 0.0;
  JsonArray rows;
  for (const Bin& bin : bins) {
    if (bin.count == 0.0) continue;
    error += std::abs(bin.predicted - bin.relevant) / count;
    rows.push_back(JsonObject{{"predicted", bin.predicted / bin.count},
                              {"share", bin.relevant / bin.count},
                              {"documents", static_cast<std::size_t>(bin.count)}});
  }
  const double share = relevant / count;
  return {{"queries", queries},
          {"documents", static_cast<std::size_t>(count)},
          {"relevant", static_cast<std::size_t>(relevant)},
          {"folds", folds.size()},
          {"expected_calibration_error", error},
          {"brier", squares / count},
          {"brier_of_constant", share * (1.0 - share)},
          {"bins", std::move(rows)}};
}

JsonMembers record_of_calibration(const JsonObject& training) {
  return JsonMembers(training).inner("calibration");
}

}  // namespace

std::size_t judged_queries(const TrainingSet& set) {
  return base_queries(set, are_judged(set)).size();
}

bool can_calibrate(const TrainingSet& set) {
  if (judged_queries(set) < kFewestCalibrated) return false;
  const std::vector<bool> judged = are_judged(set);
  bool has_relevant = false, has_other = false;
  for (std::size_t q = 0; q < judged.size(); ++q)
    for (std::size_t row = set.queries[q].begin; judged[q] && row < set.queries[q].end; ++row)
      if (set.in_feedback[row] != 0) (is_relevant_row(set, row) ? has_relevant : has_other) = true;
  return has_relevant && has_other;
}

Result<void> calibrate(const TrainingRequest& request, const Learner& learner, TrainingResult& result) {
  const TrainingSet& set = *request.train;
  const std::size_t queries = judged_queries(set);
  if (queries < kFewestCalibrated)
    return fail(Code::bad_data,
                fmt::format("calibration needs {} judged queries, and there are {}; judge more, or train "
                            "without --calibrate",
                            kFewestCalibrated, queries));
  if (!can_calibrate(set))
    return fail(Code::bad_data,
                "calibration needs relevant and irrelevant documents, and all judged ones are alike; judge "
                "more, or train without --calibrate");
  TRY(const auto folds, score_folds(request, learner, result, are_judged(set)));
  result.model.relevance = fit_relevance(all_but(folds, folds.size()));
  result.model.training["calibration"] = report_of(folds, queries);
  result.summary += calibration_text(result.model.training);
  return {};
}

Result<void> calibrate_if_possible(const TrainingRequest& request, const Learner& learner,
                                   TrainingResult& result) {
  if (!can_calibrate(*request.train)) return {};
  auto done = calibrate(request, learner, result);
  if (!done && done.error().code != Code::bad_data) return done;  // a fold may have nothing to learn from
  return {};
}

std::string calibration_text(const JsonObject& training) {
  const JsonMembers record = record_of_calibration(training);
  if (!record.is_object()) return {};
  return fmt::format(
      "relevance: expected calibration error {:.4f}, Brier score {:.4f} (a constant's: {:.4f}) on {:.0f} "
      "documents of {:.0f} queries that were held out\n",
      record.number_or("expected_calibration_error"), record.number_or("brier"),
      record.number_or("brier_of_constant"), record.number_or("documents"), record.number_or("queries"));
}

std::string reliability_plot(const JsonObject& training) {
  const JsonArray* bins = record_of_calibration(training).array("bins");
  if (bins == nullptr) return {};
  evaluation::Curve measured{"held-out documents", {}, {}};
  for (const Json& item : *bins) {
    const JsonMembers bin(item);
    const double count = bin.number_or("documents");
    const double share = bin.number_or("share");
    if (!(count > 0.0) || !(share >= 0.0 && share <= 1.0)) continue;
    measured.x.push_back(bin.number_or("predicted"));
    measured.y.push_back(share);
    measured.half_widths.push_back(1.96 * std::sqrt(share * (1.0 - share) / count));
  }
  return evaluation::svg_plot({measured, {"as it should be", {0.0, 1.0}, {0.0, 1.0}}},
                              {"Served relevance and share of relevant documents", "relevance", "share"});
}

}  // namespace metafuse::fusion
