#include "experiments/mpboost/figures.h"

#include "evaluation/reports/svg_plot.h"
#include "experiments/interval.h"
#include "fusion/learners/mpboost/selection.h"

namespace metafuse::experiments::mpboost {
namespace {

std::vector<double> ranks_axis() {
  std::vector<double> axis;
  for (std::size_t k = 1; k <= kDepth; ++k) axis.push_back(static_cast<double>(k));
  return axis;
}

}  // namespace

void describe(const Outcome& outcome, const PublishedNdcg& published, PaperReport& report) {
  std::vector<std::vector<std::string>> rows = {{outcome.name + ": NDCG@"}};
  for (std::size_t k = 1; k <= kDepth; ++k) rows[0].push_back(std::to_string(k));
  std::vector<evaluation::Curve> curves, overfitting;
  JsonObject json;
  const auto add_row = [&](const std::string& name, const std::vector<double>& ndcg) {
    rows.push_back({name});
    for (const double value : ndcg) rows.back().push_back(fixed(value, 4));
  };
  std::string chosen = "chosen on validation (parameter/rounds a fold, mean |dist| of the first):\n";
  for (std::size_t form = 0; form < kForms; ++form) {
    const std::vector<double> ndcg = outcome.mean_ndcg(form);
    add_row(form_name(form), ndcg);
    curves.push_back({form_name(form), ranks_axis(), ndcg});
    const std::vector<double> curve = outcome.mean_curve(form);
    evaluation::Curve line{form_name(form), {}, curve};
    for (std::size_t t = 0; t < curve.size(); ++t) line.x.push_back(static_cast<double>((t + 1) * kStep));
    overfitting.push_back(std::move(line));
    chosen += "  " + form_name(form) + ":";
    for (const Trial& trial : outcome.trials[form])
      chosen += " " + fixed(trial.parameter, 2) + "/" + std::to_string(trial.rounds);
    chosen += ", " + fixed(outcome.trials[form][0].mean_distance, 3) + "\n";
    json[form_name(form)] = JsonObject{{"ndcg", JsonArray(ndcg.begin(), ndcg.end())},
                                       {"test_ndcg_5_by_round", JsonArray(curve.begin(), curve.end())}};
  }
  for (const auto& [name, ndcg] : published) {
    add_row("published " + name, ndcg);
    if (name == "RankBoost" || name == "ListNet" || name == "AdaRank-NDCG")
      curves.push_back({"published " + name, ranks_axis(), ndcg});
  }
  report.text += columns(rows) + chosen + "\n";
  report.json[outcome.name] = std::move(json);
  report.plots.push_back(evaluation::svg_plot(curves, {outcome.name + ": NDCG@k", "k", "NDCG@k", false}));
  report.plots.push_back(
      evaluation::svg_plot(overfitting, {outcome.name + ": test NDCG@5 by round", "round", "NDCG@5", false}));
}

void distance_figure(PaperReport& report) {
  using fusion::mpboost::Distance;
  std::vector<evaluation::Curve> curves;
  std::vector<std::vector<std::string>> rows = {{"directed distance of grades apart by", "1", "2", "3", "4"}};
  for (const fusion::mpboost::Distance kind : {Distance::ldd, Distance::logdd, Distance::logitdd}) {
    const double parameter = fusion::mpboost::default_parameter(kind);
    evaluation::Curve curve{
        std::string(fusion::mpboost::distance_name(kind)) + " " + fixed(parameter, 1), {}, {}};
    rows.push_back({curve.name});
    for (int step = 1; step <= 40; ++step) {
      curve.x.push_back(0.1 * step);
      curve.y.push_back(fusion::mpboost::directed_distance(kind, parameter, 0.1 * step));
      if (step % 10 == 0) rows.back().push_back(fixed(curve.y.back(), 4));
    }
    curves.push_back(std::move(curve));
  }
  report.text += columns(rows);
  report.plots.push_back(evaluation::svg_plot(
      curves, {"directed distances (fig. 2)", "difference of grades", "distance", false}));
}

}  // namespace metafuse::experiments::mpboost
