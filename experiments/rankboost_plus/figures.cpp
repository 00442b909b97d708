#include "experiments/rankboost_plus/figures.h"

#include <algorithm>
#include <functional>

#include "evaluation/reports/svg_plot.h"
#include "experiments/interval.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::rankboost_plus::form_name;

std::vector<double> mean_curve(const Outcome& outcome, std::size_t form,
                               const std::function<double(const Trial&, std::size_t)>& at,
                               std::size_t rounds) {
  std::vector<double> mean(rounds + 1, 0.0);
  double count = 0.0;
  for (const auto& task : outcome.trials)
    for (const Trial& trial : task[form]) {
      count += 1.0;
      for (std::size_t t = 0; t <= rounds; ++t) mean[t] += at(trial, t);
    }
  for (double& value : mean) value /= count;
  return mean;
}

struct Convergence {
  std::array<std::vector<double>, kForms.size()> e1, e2, r1, r2, ndcg;
};

Convergence convergence_of(const Outcome& outcome, std::size_t rounds) {
  Convergence curves;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    curves.e1[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.e1[t]; }, rounds);
    curves.e2[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.e2[t]; }, rounds);
    curves.r1[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kR1]; }, rounds);
    curves.r2[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kR2]; }, rounds);
    curves.ndcg[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kNdcg5]; }, rounds);
  }
  return curves;
}

void plot(const std::string& title, const std::array<std::vector<double>, kForms.size()>& curves,
          PaperReport& report) {
  std::vector<evaluation::Curve> lines;
  JsonObject json;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    evaluation::Curve line{std::string(form_name(kForms[form])), {}, {}};
    for (std::size_t t = 1; t < curves[form].size(); ++t) {
      line.x.push_back(static_cast<double>(t));
      line.y.push_back(curves[form][t]);
    }
    json[line.name] = JsonArray(line.y.begin(), line.y.end());
    lines.push_back(std::move(line));
  }
  report.plots.push_back(evaluation::svg_plot(lines, {title, "round", title, false}));
  report.json[title] = std::move(json);
}

double fall_to(const std::vector<double>& curve) {
  return *std::min_element(curve.begin(), curve.end());
}

/// The curves' values after some of the rounds.
std::vector<std::vector<std::string>> convergence_rows(const Convergence& curves) {
  std::vector<std::vector<std::string>> rows = {{"after round"}};
  const std::size_t rounds = curves.e1[0].size() - 1;
  std::vector<std::size_t> stops;
  for (const std::size_t t : {5U, 10U, 20U, 40U, 100U, 200U})
    if (t <= rounds) stops.push_back(t);
  for (const std::size_t t : stops) rows[0].push_back(std::to_string(t));
  const auto add = [&](const char* name, const std::array<std::vector<double>, kForms.size()>& values) {
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      rows.push_back({std::string(name) + " " + std::string(form_name(kForms[form]))});
      for (const std::size_t t : stops) rows.back().push_back(fixed(values[form][t], 4));
    }
  };
  add("test R1", curves.r1);
  add("test R2", curves.r2);
  add("train E1", curves.e1);
  add("train E2", curves.e2);
  add("test NDCG@5", curves.ndcg);
  return rows;
}

void judge_convergence(const Convergence& curves, PaperReport& report) {
  const auto& e2 = curves.e2;
  report.claims.push_back(judged("MovieLens: RankBoost+ lowers E2 throughout",
                                 e2[2].back() <= fall_to(e2[2]) + 1e-12, "to " + fixed(e2[2].back(), 4)));
  report.claims.push_back(
      judged("MovieLens: Rb-d raises E2", e2[0].back() > 1.0, "to " + fixed(e2[0].back(), 4)));
  report.claims.push_back(judged("MovieLens: Rb-c lowers E2 at first and raises it later",
                                 e2[1].back() > fall_to(e2[1]),
                                 "least " + fixed(fall_to(e2[1]), 4) + ", last " + fixed(e2[1].back(), 4)));
  report.claims.push_back(judged("MovieLens: Rb-d and Rb-c are better minimisers of E1 than RankBoost+",
                                 std::max(curves.e1[0].back(), curves.e1[1].back()) < curves.e1[2].back(),
                                 "Rb-d " + fixed(curves.e1[0].back(), 4) + ", Rb-c " +
                                     fixed(curves.e1[1].back(), 4) + ", RankBoost+ " +
                                     fixed(curves.e1[2].back(), 4)));
  std::array<double, kForms.size()> rise{};
  for (std::size_t form = 0; form < kForms.size(); ++form)
    rise[form] = curves.r2[form].back() - fall_to(curves.r2[form]);
  report.claims.push_back(judged(
      "MovieLens: RankBoost+ overfits less: test R2 rises less above its least value",
      rise[2] < std::min(rise[0], rise[1]),
      "Rb-d " + fixed(rise[0], 4) + ", Rb-c " + fixed(rise[1], 4) + ", RankBoost+ " + fixed(rise[2], 4)));
  const double apart_first = curves.r1[2][1] - curves.r2[2][1];
  const double apart_last = curves.r1[2].back() - curves.r2[2].back();
  report.claims.push_back(judged(
      "MovieLens: R1 and R2 come together as rounds pass", apart_last < 0.25 * apart_first,
      "apart by " + fixed(apart_first, 4) + " after one round, " + fixed(apart_last, 4) + " at the end"));
}

}  // namespace

void convergence_figure(const Outcome& outcome, std::size_t rounds, PaperReport& report) {
  const Convergence curves = convergence_of(outcome, rounds);
  plot("test R1", curves.r1, report);
  plot("test R2", curves.r2, report);
  plot("train E1", curves.e1, report);
  plot("train E2", curves.e2, report);
  plot("test NDCG@5", curves.ndcg, report);
  report.text += "Convergence on MovieLens (fig. 2)\n" + columns(convergence_rows(curves));
  judge_convergence(curves, report);
}

void halting_figure(const Outcome& outcome, PaperReport& report) {
  std::size_t halted = 0;
  std::size_t lower = 0;  // of them, those where Rb-c ends lower on E1
  std::size_t runs = 0;
  const Trial* example = nullptr;
  const Trial* rival = nullptr;
  for (const auto& task : outcome.trials)
    for (std::size_t fold = 0; fold < task[0].size(); ++fold) {
      ++runs;
      if (!task[0][fold].is_halted) continue;
      ++halted;
      lower += task[1][fold].e1.back() < task[0][fold].e1.back() ? 1U : 0U;
      if (example != nullptr && example->rounds <= task[0][fold].rounds) continue;
      example = &task[0][fold];
      rival = &task[1][fold];
    }
  report.text += outcome.name + ": Rb-d halted in " + std::to_string(halted) + " of " + std::to_string(runs) +
                 " trainings because its weak ranking reversed no pair\n\n";
  report.claims.push_back(judged(outcome.name + ": Rb-d's weight becomes undefined on real data (fig. 4)",
                                 halted > 0,
                                 std::to_string(halted) + " of " + std::to_string(runs) + " trainings"));
  if (example == nullptr || outcome.name != "MovieLens") return;
  std::vector<evaluation::Curve> curves = {{"Rb-d, halted", {}, {}}, {"Rb-c", {}, {}}};
  for (std::size_t t = 0; t < rival->e1.size(); ++t) {
    curves[1].x.push_back(static_cast<double>(t));
    curves[1].y.push_back(rival->e1[t]);
    if (t > example->rounds) continue;
    curves[0].x.push_back(static_cast<double>(t));
    curves[0].y.push_back(example->e1[t]);
  }
  report.plots.push_back(evaluation::svg_plot(curves, {"Rb-d halts (fig. 4)", "round", "train E1", false}));
  report.claims.push_back(judged(
      "where Rb-d halts, its ensemble is not at the minimum of E1", lower > 0,
      "Rb-c ends lower in " + std::to_string(lower) + " of " + std::to_string(halted) +
          " such trainings; the earliest halts after " + std::to_string(example->rounds) + " rounds at E1 " +
          fixed(example->e1.back(), 4) + ", Rb-c reaches " + fixed(rival->e1.back(), 4)));
}

}  // namespace metafuse::experiments::rankboost_plus
