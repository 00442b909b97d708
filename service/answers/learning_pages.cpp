#include "service/answers/learning_pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "evaluation/reports/plots.h"
#include "fusion/model/weak_ranking.h"
#include "service/answers/page.h"
#include "service/answers/reasons.h"
#include "service/base/dates.h"

namespace metafuse::service {
namespace {

using evaluation::svg_bar;
using evaluation::svg_number;
using evaluation::svg_text;

constexpr double kNames = 190;  ///< width of the column of names
constexpr double kWidth = 460;  ///< of the longest bar
constexpr double kRow = 26;
constexpr double kTop = 34;
constexpr int kFont = 13;
constexpr const char* kBar = "fill=\"#1f7fc4\"";
constexpr const char* kMark = "fill=\"#c8553d\"";

std::string opened(double height, const std::string& title) {
  return evaluation::svg_opened(800, height, title, kFont);
}

/// One row of a bar plot: a bar to `value` with a mark at `mark`.
struct Bar {
  std::string name;
  double value = 0;
  double mark = 0;
};

/// An SVG of horizontal bars, to stand inside a page: it takes the page's text colour and needs no style.
///
/// in: title - what screen readers say; bars - values and marks >= 0
std::string bar_plot(const std::vector<Bar>& bars, const std::string& title, const std::string& unit) {
  double most = 0;
  for (const Bar& row : bars) most = std::max({most, row.value, row.mark});
  const double scale = most > 0 ? kWidth / most : 0;
  std::string out = opened(kTop + kRow * static_cast<double>(bars.size()) + 8, title);
  out += svg_text(8, 16, "start", title);
  double y = kTop;
  for (const Bar& row : bars) {
    out += svg_text(kNames - 10, y + 15, "end", row.name);
    out += svg_bar(kNames, y + 4, row.value * scale, 14, kBar);
    out += svg_bar(kNames + row.mark * scale - 1.5, y, 3, 22, kMark);
    out += svg_text(kNames + std::max(row.value, row.mark) * scale + 8, y + 15, "start",
                    svg_number(row.value, 2) + " | " + svg_number(row.mark, 1) + " " + unit);
    y += kRow;
  }
  return out + "</svg>";
}

/// An SVG of an interval within [0, 1] with its middle marked, against one half.
std::string interval_plot(double low, double share, double high, const std::string& title) {
  constexpr double kLeft = 20;
  constexpr double kSpan = 560;
  const auto place = [](double value) { return kLeft + kSpan * std::clamp(value, 0.0, 1.0); };
  std::string out = opened(64, title);
  out += svg_bar(kLeft, 27, kSpan, 2, "fill-opacity=\".3\"");
  out += svg_bar(place(0.5) - 1, 16, 2, 24, "fill-opacity=\".6\"");
  out +=
      svg_bar(place(low), 22, std::max(2.0, place(high) - place(low)), 12, std::string(kBar) + " rx=\"3\"");
  out += svg_bar(place(share) - 2, 16, 4, 24, kMark);
  out += svg_text(kLeft, 58, "start", "champion wins all") + svg_text(place(0.5), 58, "middle", "even");
  return out + svg_text(kLeft + kSpan, 58, "end", "challenger wins all") + "</svg>";
}

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

std::string evaluation_page(const Exchange& exchange, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem) {
  View view =
      page_view(&exchange, "Evaluation of " + domain.domain.name + " – metafuse", "", domain.domain.name);
  view.set("NAME", domain.domain.name);
  for (const LoadedDomain* other : exchange.domains()) view.add("OTHER").set("NAME", other->domain.name);
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

namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share));
}

std::string named(const std::string& version, const char* otherwise) {
  return version.empty() ? otherwise : version;
}

void add_score(const InterleavingScore& score, View& view) {
  const InterleavingCounts& counts = score.counts;
  const char* verdict = "That does not decide it yet.";
  if (score.low > 0.5) verdict = "People prefer the challenger.";
  if (score.high < 0.5) verdict = "People prefer the champion.";
  const std::string share = percent(score.challenger_share);
  view.add("SCORE")
      .set("DECIDED", std::to_string(counts.champion + counts.challenger))
      .set("WON", std::to_string(counts.challenger))
      .set("TIES", std::to_string(counts.ties))
      .set("SHARE", share)
      .set("LOW", percent(score.low))
      .set("HIGH", percent(score.high))
      .set("P", short_number(score.p))
      .set("VERDICT", verdict)
      .set("SVG", interval_plot(score.low, score.challenger_share, score.high,
                                "Share of the challenger: " + share + " %, 95 % interval " +
                                    percent(score.low) + " to " + percent(score.high) + " %"));
}

void add_versions(const ModelState& state, View& view) {
  if (state.versions.empty()) return;
  View& versions = view.add("VERSIONS");
  for (const ModelVersion& version : state.versions) {
    View& row = versions.add("VERSION");
    row.set("ID", version.version)
        .set("LEARNER", version.learner)
        .set("ORIGIN", version.origin)
        .set("TIME", version.at > 0 ? utc_text(version.at) : "before the store")
        .set("ROLE", version.is_champion     ? "champion"
                     : version.is_challenger ? "challenger "
                                             : "");
    if (!version.is_champion) row.add("CHOOSE");
  }
}

void add_state(const DomainModels& models, View& item) {
  const ModelState& state = models.state;
  View& view = item.add("STATE");
  view.set("CHAMPION", named(state.champion, "none: fused by RRF"))
      .set("CHALLENGER", named(state.challenger, "none yet"))
      .set("PREVIOUS", state.history.empty() ? "nowhere yet" : named(state.history.back(), "no model: RRF"));
  if (models.score) add_score(*models.score, view);
  add_versions(state, view);
}

}  // namespace

std::string model_page(const Exchange& exchange, const ModelPageState& state) {
  View view = page_view(&exchange, "Models – metafuse", "", "");
  if (!state.done.empty()) view.add("DONE").set("TEXT", state.done);
  if (!state.wrong.empty()) view.add("WRONG").set("TEXT", state.wrong);
  if (state.is_off) view.add("OFF");
  for (const LoadedDomain* domain : exchange.domains()) {
    const std::string& name = domain->domain.name;
    View& item = view.add("ITEM");
    item.set("NAME", name).set("METHOD", fused_by(*domain));
    if (state.is_off) continue;
    View& actions = item.add("ACTIONS");
    for (const DomainModels& models : state.models)
      if (models.domain == name) add_state(models, actions);
  }
  return render_page("models", view);
}

}  // namespace metafuse::service
