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

/// The candidate that validation parts chose, with its model of every fold.
struct Ours {
  Candidate candidate;
  std::vector<Trained> folds;
};

Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, PaperReport& report) {
  Ours best;
  double best_value = -1.0;
  JsonArray json;
  const std::vector<Candidate> all = candidates(options.size);
  std::size_t done = 0;
  for (const Candidate& candidate : all) {
    std::vector<Trained> trained;
    double value = 0.0;
    for (const Fold& fold : folds) {
      auto one = train(fold, candidate, measures, options);
      if (!one) return one.error();
      value += criterion(one->validation) / static_cast<double>(folds.size());
      trained.push_back(std::move(*one));
      if (options.progress) options.progress(++done, all.size() * folds.size());
    }
    report.text += "  " + candidate.name + ": " + fixed(value, 4) + "\n";
    json.push_back(JsonObject{{"configuration", candidate.name}, {"validation", value}});
    if (value <= best_value) continue;
    best_value = value;
    best = {candidate, std::move(trained)};
  }
  report.text += "chosen: " + best.candidate.name + "; rounds by fold:";
  for (const Trained& fold : best.folds) report.text += ' ' + std::to_string(fold.rounds);
  report.text += '\n';
  report.json["validation"] = std::move(json);
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
  JsonArray json;
  for (std::size_t i = 0; i < names->size(); ++i) {
    report.text += "  " + (*names)[i] + ": " + fixed(values[i], 4) + "\n";
    json.push_back(JsonObject{{"configuration", (*names)[i]}, {"validation", values[i]}});
    if (values[i] <= best_value) continue;
    best_value = values[i];
    best = (*names)[i];
  }
  if (!best.empty()) report.text += "chosen: " + best + "\n";
  report.json["peer_validation"] = std::move(json);
  return best;
}

void append(Values& to, Values&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

Result<void> test_fold(const Fold& fold, const Candidate& candidate, const Trained& trained,
                       const std::string& peer, const evaluation::MeasureSet& measures,
                       const ExperimentOptions& options, Outcome& outcome) {
  const auto test = read_parts({fold.test}, candidate.reading, trained.model.features);
  if (!test) return test.error();
  // Derived features are no lists, so what fuses without training reads the part without them.
  const auto lists = read_parts({fold.test}, {});
  if (!lists) return lists.error();
  const RoundCurve curve(*lists, measures);
  std::vector<Values>& values = outcome.by_set[fold.set];
  values.resize(outcome.methods.size());
  std::size_t method = 0;
  append(values[method], curve.per_query(trained.model.ranker->score(test->matrix)));
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) {
    std::vector<double> scores(lists->grades.size());
    for (const fusion::QueryRange& query : lists->queries) {
      const auto part = baseline.score(lists->matrix, query.begin, query.end);
      std::copy(part.begin(), part.end(), scores.begin() + static_cast<std::ptrdiff_t>(query.begin));
    }
    append(values[++method], curve.per_query(scores));
  }
  if (peer.empty()) return {};
  auto measured = peer_values(options.peer_runs, peer, fold, "test", *lists, measures);
  if (!measured) return measured.error();
  append(values[++method], std::move(*measured));
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
  report.text = "Mean of the three measures on the validation parts of both sets\n";
  const auto ours = choose_ours(*folds, *measures, options, report);
  if (!ours) return ours.error();
  const auto peer = choose_peer(*folds, *measures, options, report);
  if (!peer) return peer.error();
  report.text += "\nTest parts\n";
  Outcome outcome;
  outcome.methods = {ours->candidate.name};
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) outcome.methods.push_back(baseline.name);
  if (!peer->empty()) outcome.methods.push_back(*peer);
  for (std::size_t f = 0; f < folds->size(); ++f)
    if (auto tested =
            test_fold((*folds)[f], ours->candidate, ours->folds[f], *peer, *measures, options, outcome);
        !tested)
      return tested.error();
  describe(outcome, options.seed, report);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::letor_agg
