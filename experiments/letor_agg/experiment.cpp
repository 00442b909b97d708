#include "experiments/letor_agg/experiment.h"

#include <algorithm>

#include "experiments/interval.h"
#include "experiments/letor_agg/candidate.h"
#include "experiments/letor_agg/comparison.h"
#include "experiments/letor_agg/peer.h"
#include "experiments/round_curve.h"
#include "fusion/baseline.h"

namespace metafuse::experiments::letor_agg {
namespace {

/// What validation parts chose: one candidate and number of rounds for both sets.
struct Ours {
  Candidate candidate;
  std::size_t rounds = 0;
  double value = -1.0;  ///< the mean criterion over all folds
};

/// The number of rounds of the highest mean over the folds; a fold whose training ended early stays as it
/// was.
Ours best_rounds(const Candidate& candidate, const std::vector<std::vector<double>>& curves) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  Ours best{candidate};
  for (std::size_t t = 0; t < longest; ++t) {
    double mean = 0.0;
    for (const auto& curve : curves)
      if (!curve.empty()) mean += curve[std::min(t, curve.size() - 1)] / static_cast<double>(curves.size());
    if (mean > best.value) best = {candidate, t + 1, mean};
  }
  return best;
}

Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, PaperReport& report) {
  Ours best;
  JsonArray json;
  const std::vector<Candidate> all = candidates(options.size);
  std::vector<std::vector<std::string>> rows = {{"configuration", "rounds", "validation"}};
  std::size_t done = 0;
  for (const Candidate& candidate : all) {
    std::vector<std::vector<double>> curves;
    for (const Fold& fold : folds) {
      auto curve = validation_curve(fold, candidate, measures, options);
      if (!curve) return curve.error();
      curves.push_back(std::move(*curve));
      if (options.progress) options.progress(++done, (all.size() + 1) * folds.size());
    }
    const Ours found = best_rounds(candidate, curves);
    rows.push_back({candidate.name, std::to_string(found.rounds), fixed(found.value, 4)});
    json.push_back(
        JsonObject{{"configuration", candidate.name}, {"rounds", found.rounds}, {"validation", found.value}});
    if (found.value > best.value) best = found;
  }
  report.text +=
      columns(rows) + "chosen: " + best.candidate.name + ", " + std::to_string(best.rounds) + " rounds\n\n";
  report.json["validation"] = std::move(json);
  report.json["chosen"] = best.candidate.name;
  return best;
}

/// The peer's configuration of the highest criterion on the validation parts of both sets; empty for no peer.
Result<std::string> choose_peer(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                                const ExperimentOptions& options, PaperReport& report) {
  const auto names = peer_configurations(options.peer_runs);
  if (!names) return names.error();
  std::string best;
  double best_value = -1.0;
  std::vector<double> values(names->size(), 0.0);
  for (const Fold& fold : folds) {
    const auto set = read_parts({fold.validate}, {});
    if (!set) return set.error();
    for (std::size_t i = 0; i < names->size(); ++i) {
      const auto measured = peer_values(options.peer_runs, (*names)[i], fold, "validation", *set, measures);
      if (!measured) return measured.error();
      values[i] += criterion(*measured) / static_cast<double>(folds.size());
    }
  }
  if (names->empty()) return best;
  JsonArray json;
  std::vector<std::vector<std::string>> rows = {{"other learner", "validation"}};
  for (std::size_t i = 0; i < names->size(); ++i) {
    rows.push_back({(*names)[i], fixed(values[i], 4)});
    json.push_back(JsonObject{{"configuration", (*names)[i]}, {"validation", values[i]}});
    if (values[i] <= best_value) continue;
    best_value = values[i];
    best = (*names)[i];
  }
  report.text += columns(rows) + "chosen: " + best + "\n\n";
  report.json["peer_validation"] = std::move(json);
  return best;
}

void append(Values& to, Values&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// What a fold's test part is worth to a model of ours.
Result<Values> test_ours(const Fold& fold, const std::vector<std::string>& parts, const Ours& ours,
                         const RoundCurve& curve, const ExperimentOptions& options) {
  const auto model = train(parts, ours.candidate, ours.rounds, options);
  if (!model) return model.error();
  const auto test = read_parts({fold.test}, ours.candidate.reading, model->features);
  if (!test) return test.error();
  return curve.per_query(model->ranker->score(test->matrix));
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

Result<void> test_fold(const Fold& fold, const Ours& ours, const std::string& peer,
                       const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                       Tested& tested) {
  // Derived features are no lists, so what fuses without training reads the part without them.
  const auto lists = read_parts({fold.test}, {});
  if (!lists) return lists.error();
  const RoundCurve curve(*lists, measures);
  std::vector<std::string> more = fold.train;
  more.push_back(fold.validate);
  const auto add = [&](Outcome& outcome, const std::vector<std::string>& parts, const char* peer_part,
                       std::vector<Values> others) -> Result<void> {
    auto measured = test_ours(fold, parts, ours, curve, options);
    if (!measured) return measured.error();
    others.insert(others.begin(), std::move(*measured));
    if (!peer.empty()) {
      auto theirs = peer_values(options.peer_runs, peer, fold, peer_part, *lists, measures);
      if (!theirs) return theirs.error();
      others.push_back(std::move(*theirs));
    }
    std::vector<Values>& values = outcome.by_set[fold.set];
    values.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) append(values[i], std::move(others[i]));
    return {};
  };
  if (auto added = add(tested.plain, fold.train, "test", test_baselines(*lists, curve)); !added) return added;
  return add(tested.refitted, more, "refitted", {});
}

Result<void> test_all(const std::vector<Fold>& folds, const Ours& ours, const std::string& peer,
                      const evaluation::MeasureSet& measures, const ExperimentOptions& options,
                      PaperReport& report) {
  Tested tested;
  tested.plain.methods = {ours.candidate.name};
  tested.refitted.methods = {ours.candidate.name};
  for (const fusion::Baseline& baseline : fusion::rank_baselines())
    tested.plain.methods.push_back(baseline.name);
  if (!peer.empty())
    for (Outcome* outcome : {&tested.plain, &tested.refitted}) outcome->methods.push_back(peer);
  for (const Fold& fold : folds)
    if (auto done = test_fold(fold, ours, peer, measures, options, tested); !done) return done;
  report.text += "Test parts\n\n";
  describe(tested.plain, "test", options.seed, report);
  report.text += "Test parts, refitted on training and validation parts\n\n";
  describe(tested.refitted, "refitted", options.seed, report);
  return {};
}

}  // namespace

Result<std::string> run_letor_agg(const ExperimentOptions& options) {
  const auto folds = official_folds(options.data);
  if (!folds) return folds.error();
  const auto measures = evaluation::parse_measures(kMeasures);
  if (!measures) return measures.error();
  PaperReport report;
  report.name = "letor-agg";
  report.title = "Fusion on LETOR's rank aggregation sets";
  report.text = "Mean of the three measures over the validation parts of both sets\n\n";
  const auto ours = choose_ours(*folds, *measures, options, report);
  if (!ours) return ours.error();
  const auto peer = choose_peer(*folds, *measures, options, report);
  if (!peer) return peer.error();
  if (auto tested = test_all(*folds, *ours, *peer, *measures, options, report); !tested)
    return tested.error();
  if (options.progress) options.progress(1, 1);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::letor_agg
