#include "service/answers/evaluation_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "evaluation/reports/plots.h"
#include "fusion/model/weak_ranking.h"
#include "service/answers/bar_plot.h"
#include "service/answers/page.h"

namespace metafuse::service {
namespace {

using evaluation::Curve;

constexpr std::array kTops = {1, 2, 5, 10, 20, 30};
constexpr std::size_t kMostRows = 60;

std::string decimals(double number, int count) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", count, number);
  return text;
}

/// A plot and the table of its curves, thinned to kMostRows rows.
void add_plot(View& page, const std::vector<Curve>& curves, const evaluation::PlotText& text) {
  if (curves.empty() || curves.front().x.empty()) return;
  View& plot = page.add("PLOT");
  plot.set("SVG", evaluation::svg_plot(curves, text)).set("CAPTION", text.title).set("X_NAME", text.x_name);
  for (const Curve& curve : curves) plot.add("CURVE").set("NAME", curve.name);
  const std::size_t rows = curves.front().x.size();
  const std::size_t stride = std::max<std::size_t>(1, (rows + kMostRows - 1) / kMostRows);
  for (std::size_t i = 0; i < rows; i += stride) {
    View& row = plot.add("ROW");
    row.set("X", decimals(curves.front().x[i], 0));
    for (const Curve& curve : curves)
      row.add("VALUE").set("Y", i < curve.y.size() ? decimals(curve.y[i], 4) : "");
  }
}

void add_loss(const EvaluationReport& report, View& page) {
  Curve loss{"ranking loss", {}, {}};
  Curve bound{"its bound (theorem 1)", {}, {}};
  for (const ReportedRound& round : report.rounds) {
    loss.x.push_back(round.round);
    loss.y.push_back(round.ranking_loss);
    bound.x.push_back(round.round);
    bound.y.push_back(round.bound);
  }
  add_plot(page, {loss, bound}, {"Training: ranking loss and its bound by round", "round", "loss"});
}

/// Share of the queries whose answer stands in the first k, for k up to the depth.
Curve top_k_curve(const ReportedMethod& method, int depth) {
  Curve curve{method.name, {}, {}};
  for (int k = 1; k <= depth; ++k) {
    curve.x.push_back(k);
    curve.y.push_back(static_cast<double>(method.top(k)) / static_cast<double>(method.best_rank.size()));
  }
  return curve;
}

const ReportedMethod* best_of(const std::vector<ReportedMethod>& methods) {
  const auto best = std::min_element(methods.begin(), methods.end(), [](const auto& a, const auto& b) {
    return a.average_rank < b.average_rank;
  });
  return best == methods.end() ? nullptr : &*best;
}

void add_top_k(const EvaluationReport& report, View& page) {
  if (!report.has_table()) return;
  std::vector<Curve> curves{top_k_curve(report.learner, report.depth)};
  if (const ReportedMethod* template_ = best_of(report.features))
    curves.push_back(top_k_curve(*template_, report.depth));
  for (const ReportedMethod& baseline : report.baselines)
    if (baseline.name == "rrf") curves.push_back(top_k_curve(baseline, report.depth));
  add_plot(page, curves, {"Held-out queries answered in the first k results", "k", "share of queries"});
}

/// Queries by how many ranks the learner gains or loses against RRF.
void add_wins(const EvaluationReport& report, View& page) {
  const auto rrf = std::find_if(report.baselines.begin(), report.baselines.end(),
                                [](const ReportedMethod& method) { return method.name == "rrf"; });
  if (!report.has_table() || rrf == report.baselines.end()) return;
  std::vector<double> gains;
  for (std::size_t q = 0; q < report.queries.size(); ++q)
    gains.push_back(rrf->best_rank[q] - report.learner.best_rank[q]);
  std::sort(gains.begin(), gains.end(), std::greater<>());
  const auto wins = std::count_if(gains.begin(), gains.end(), [](double gain) { return gain > 0; });
  const auto losses = std::count_if(gains.begin(), gains.end(), [](double gain) { return gain < 0; });
  page.add("WINS")
      .set("WON", std::to_string(wins))
      .set("TIED", std::to_string(static_cast<std::ptrdiff_t>(gains.size()) - wins - losses))
      .set("LOST", std::to_string(losses));
  Curve curve{"ranks gained", {}, gains, true};
  for (std::size_t i = 0; i < gains.size(); ++i) curve.x.push_back(static_cast<double>(i + 1));
  add_plot(page, {curve}, {"Per query: ranks gained over RRF, best first", "query", "ranks"});
}

/// What each list's rank adds to a score.
void add_steps(const LoadedDomain& domain, View& page) {
  if (!domain.model) return;
  const auto* ranker = dynamic_cast<const fusion::StepRanker*>(domain.model->ranker.get());
  if (ranker == nullptr) return;
  std::vector<Curve> curves;
  for (std::size_t f = 0; f < ranker->tables().size(); ++f) {
    const fusion::Feature& feature = domain.model->features[f];
    if (feature.kind != fusion::FeatureKind::rank) continue;
    Curve curve{feature.name, {}, {}, true};
    for (int rank = 1; rank <= domain.domain.depth; ++rank) {
      curve.x.push_back(rank);
      curve.y.push_back(ranker->tables()[f].at_rank(static_cast<std::uint32_t>(rank)));
    }
    if (curve.y.front() != 0.0) curves.push_back(std::move(curve));
  }
  add_plot(page, curves, {"What a rank in each list adds to the score", "rank", "weight"});
}

void add_method_row(const ReportedMethod& method, View& group) {
  View& row = group.add("METHOD");
  row.set("NAME", method.name).set("AVERAGE", decimals(method.average_rank, 2));
  for (const int k : kTops) row.add("TOP").set("COUNT", std::to_string(method.top(k)));
}

void add_table(const EvaluationReport& report, View& page) {
  if (!report.has_table()) return;
  View& table = page.add("TABLE");
  table.set("QUERIES", std::to_string(report.queries.size()));
  for (const int k : kTops) table.add("TOP_TITLE").set("K", std::to_string(k));
  View& methods = table.add("GROUP");
  add_method_row(report.learner, methods);
  for (const ReportedMethod& method : report.baselines) add_method_row(method, methods);
  View& lists = table.add("GROUP");
  std::vector<ReportedMethod> features = report.features;
  std::stable_sort(features.begin(), features.end(),
                   [](const auto& a, const auto& b) { return a.average_rank < b.average_rank; });
  for (const ReportedMethod& method : features) add_method_row(method, lists);
}

void add_engines(const std::vector<Metrics::EngineLatency>& engines, View& page) {
  if (engines.empty()) return;
  const std::string title = "Engines since the start: mean (bar) and 95th percentile at most (mark)";
  std::vector<Bar> bars;
  for (const auto& engine : engines)
    bars.push_back({engine.engine, engine.mean_seconds * 1e3, engine.p95_seconds * 1e3});
  View& plot = page.add("PLOT");
  plot.set("SVG", bar_plot(bars, title, "ms")).set("CAPTION", title).set("X_NAME", "engine");
  for (const char* column : {"lists", "mean, ms", "95th percentile at most, ms"})
    plot.add("CURVE").set("NAME", column);
  for (const auto& engine : engines) {
    View& row = plot.add("ROW");
    row.set("X", engine.engine);
    row.add("VALUE").set("Y", std::to_string(engine.lists));
    row.add("VALUE").set("Y", decimals(engine.mean_seconds * 1e3, 2));
    row.add("VALUE").set("Y", decimals(engine.p95_seconds * 1e3, 1));
  }
}

}  // namespace

std::string evaluation_page(const Snapshot& snapshot, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem) {
  View view =
      page_view(&snapshot, "Evaluation of " + domain.domain.name + " – metafuse", "", domain.domain.name);
  view.set("NAME", domain.domain.name);
  for (const auto& [name, other] : snapshot.domains) view.add("OTHER").set("NAME", name);
  if (!problem.empty())
    view.add("PROBLEM").set("TEXT", problem);
  else if (report.is_empty())
    view.add("NO_REPORT").set("NAME", domain.domain.name);
  add_table(report, view);
  add_top_k(report, view);
  add_wins(report, view);
  add_loss(report, view);
  add_steps(domain, view);
  add_engines(engines, view);
  return render_page("evaluation", view);
}

}  // namespace metafuse::service
