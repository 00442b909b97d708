#include "experiments/letor_agg/experiment.h"

#include <algorithm>
#include <iterator>

#include "experiments/letor_agg/comparison.h"
#include "experiments/letor_agg/peer.h"
#include "experiments/letor_agg/selection.h"
#include "experiments/round_curve.h"
#include "fusion/training/baseline.h"

namespace metafuse::experiments::letor_agg {
namespace {

void append(Values& to, Values&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// What a fold's test part is worth to a model of ours.
Result<Values> test_ours(const Fold& fold, const std::vector<std::string>& parts, const Ours& ours,
                         const RoundCurve& curve, const ExperimentOptions& options) {
  TRY(const auto model, train(parts, ours.candidate, ours.rounds.at(fold.set), options));
  TRY(const auto test, read_parts({fold.test}, ours.candidate.reading, model.features));
  return curve.per_query(model.ranker->score(test.matrix));
}

/// What each method that needs no training makes of a part.
std::vector<Values> test_baselines(const fusion::TrainingSet& lists, const RoundCurve& curve) {
  std::vector<Values> values;
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) {
    std::vector<double> scores(lists.grades.size());
    for (const fusion::QueryRange& query : lists.queries) {
      const auto part = baseline.score(lists.matrix, query.begin, query.end);
      std::copy(part.begin(), part.end(), scores.begin() + static_cast<std::ptrdiff_t>(query.begin));
    }
    values.push_back(curve.per_query(scores));
  }
  return values;
}

/// Everything that is measured on test parts: models of the training parts, and models that were trained
/// again on training and validation parts, when nothing is left to choose.
struct Tested {
  Outcome plain;
  Outcome refitted;
};

Result<void> test_fold(const Fold& fold, const Ours& ours, const std::vector<std::string>& peers,
                       const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                       Tested& tested) {
  // Derived features are no lists, so what fuses without training reads the part without them.
  TRY(const auto lists, read_parts({fold.test}, {}));
  const RoundCurve curve(lists, measures);
  std::vector<std::string> more = fold.train;
  more.push_back(fold.validate);
  const auto add = [&](Outcome& outcome, const std::vector<std::string>& parts, const char* peer_part,
                       std::vector<Values> others) -> Result<void> {
    TRY(auto measured, test_ours(fold, parts, ours, curve, options));
    others.insert(others.begin(), std::move(measured));
    for (const std::string& peer : peers) {
      TRY(auto theirs, peer_values(options.peer_runs, peer, fold, peer_part, lists, measures));
      others.push_back(std::move(theirs));
    }
    std::vector<Values>& values = outcome.by_set[fold.set];
    values.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) append(values[i], std::move(others[i]));
    return {};
  };
  if (auto added = add(tested.plain, fold.train, "test", test_baselines(lists, curve)); !added) return added;
  return add(tested.refitted, more, "refitted", {});
}

Result<void> test_all(const std::vector<Fold>& folds, const Ours& ours, const std::vector<std::string>& peers,
                      const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                      PaperReport& report) {
  Tested tested;
  tested.plain.methods = {ours.candidate.name};
  tested.refitted.methods = {ours.candidate.name};
  for (const fusion::Baseline& baseline : fusion::rank_baselines())
    tested.plain.methods.push_back(baseline.name);
  for (Outcome* outcome : {&tested.plain, &tested.refitted})
    outcome->methods.insert(outcome->methods.end(), peers.begin(), peers.end());
  for (const Fold& fold : folds)
    if (auto done = test_fold(fold, ours, peers, measures, options, tested); !done) return done;
  report.text += "Test parts\n\n";
  describe(tested.plain, "test", options.seed, report);
  report.text += "Test parts, refitted on training and validation parts\n\n";
  describe(tested.refitted, "refitted", options.seed, report);
  return {};
}

}  // namespace

Result<std::string> run_letor_agg(const ExperimentOptions& options) {
  TRY(const auto folds, official_folds(options.data));
  TRY(const auto measures, evaluation::parse_measures(kMeasures));
  PaperReport report;
  report.name = "letor-agg";
  report.title = "Fusion on LETOR's rank aggregation sets";
  report.text = "Mean of the three measures over the validation parts of both sets\n\n";
  TRY(const auto ours, choose_ours(folds, measures, options, report));
  TRY(const auto peers, choose_peers(folds, measures, options, report));
  TRY_VOID(test_all(folds, ours, peers, measures, options, report));
  if (options.progress) options.progress(1, 1);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::letor_agg
