#include "service/pages/learning_pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/encoding.h"
#include "evaluation/reports/plots.h"
#include "fusion/model/sum_ranker.h"
#include "service/base/dates.h"
#include "service/pages/judging_page.h"
#include "service/pages/page.h"
#include "service/pages/svg_views.h"
#include "service/search/reasons.h"

namespace metafuse::service {
namespace {

using evaluation::svg_bar;
using evaluation::svg_text;

constexpr int kPlotFont = 13;
constexpr const char* kBar = "fill=\"#1f7fc4\"";
constexpr const char* kMark = "fill=\"#c8553d\"";

/// An SVG of an interval within [0, 1]; its middle and one half are marked.
std::string interval_plot(double low, double share, double high, const std::string& title) {
  constexpr double kLeft = 20;
  constexpr double kSpan = 560;
  const auto place = [](double value) { return kLeft + kSpan * std::clamp(value, 0.0, 1.0); };
  std::string out = evaluation::svg_opened(800, 64, title, kPlotFont);
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

/// The share of queries whose answer is among the first k results, for k up to the depth.
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

const ReportedMethod* rrf_of(const EvaluationReport& report) {
  for (const ReportedMethod& baseline : report.baselines)
    if (baseline.name == "rrf") return &baseline;
  return nullptr;
}

void add_top_k(const EvaluationReport& report, View& page) {
  if (!report.has_table()) return;
  std::vector<Curve> curves{top_k_curve(report.learner, report.depth)};
  if (const ReportedMethod* template_ = best_of(report.features))
    curves.push_back(top_k_curve(*template_, report.depth));
  if (const ReportedMethod* rrf = rrf_of(report)) curves.push_back(top_k_curve(*rrf, report.depth));
  add_plot(page, curves, {"Held-out queries answered in the first k results", "k", "share of queries"});
}

/// Plots how many ranks the learner gains or loses per query against RRF, the largest gain first.
void add_wins(const EvaluationReport& report, View& page) {
  const ReportedMethod* rrf = rrf_of(report);
  if (!report.has_table() || rrf == nullptr) return;
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

/// The reciprocal of the best answer's rank per query; 0 where the answer is not within the depth.
std::vector<double> reciprocal_ranks(const ReportedMethod& method, int depth) {
  std::vector<double> out;
  for (const int rank : method.best_rank) out.push_back(rank > depth ? 0.0 : 1.0 / rank);
  return out;
}

/// Mean reciprocal ranks with their intervals, and the mean of the learner's lead over each method per query.
void add_comparison(const EvaluationReport& report, View& page) {
  if (!report.has_table()) return;
  std::vector<const ReportedMethod*> methods = {&report.learner};
  for (const ReportedMethod& baseline : report.baselines) methods.push_back(&baseline);
  if (const ReportedMethod* template_ = best_of(report.features)) methods.push_back(template_);
  const std::vector<double> own = reciprocal_ranks(report.learner, report.depth);
  PlotTable table{"Mean reciprocal rank of the answer, with 95 % intervals",
                  {"method", "mean", "±", "learner ahead by", "±"}};
  std::vector<IntervalRow> rows;
  for (const ReportedMethod* method : methods) {
    const std::vector<double> values = reciprocal_ranks(*method, report.depth);
    std::vector<double> ahead;
    for (std::size_t i = 0; i < values.size(); ++i) ahead.push_back(own[i] - values[i]);
    const Spread spread = spread_of(values);
    const Spread lead = spread_of(ahead);
    rows.push_back(
        {method->name, spread.mean - spread.half_width, spread.mean, spread.mean + spread.half_width});
    table.rows.push_back({method->name, decimals(spread.mean, 4), decimals(spread.half_width, 4),
                          decimals(lead.mean, 4), decimals(lead.half_width, 4)});
  }
  add_picture(page, intervals_svg(rows, table.title), table);
}

void add_curves(const EvaluationReport& report, View& page) {
  for (const ReportedCurves& curves : report.curves) {
    std::vector<Curve> plotted;
    PlotTable table{"Learning curve on " + curves.collection + ": mean average precision by judged queries",
                    {"judged queries"}};
    std::map<double, std::vector<std::string>> cells;
    for (const ReportedCurves::Line& line : curves.lines) {
      plotted.push_back({line.name, line.queries, line.means, false, line.half_widths});
      table.columns.push_back(line.name);
      for (std::size_t i = 0; i < line.queries.size(); ++i) {
        auto& row = cells[line.queries[i]];
        row.resize(table.columns.size() - 1);
        row.push_back(decimals(line.means[i], 4) + " ± " + decimals(line.half_widths[i], 4));
      }
    }
    for (auto& [queries, row] : cells) {
      row.resize(table.columns.size());
      row.front() = decimals(queries, 0);
      table.rows.push_back(std::move(row));
    }
    add_picture(page, evaluation::svg_plot(plotted, {table.title, "judged queries", "MAP", true}), table);
  }
}

constexpr std::size_t kMostShifts = 10;

/// "/search?domain=D&slot.A=...", a link that searches for the query again; "" if its words are not known.
std::string search_link(const std::string& domain, const EvaluationReport& report, const std::string& id) {
  const auto words = report.words.find(id);
  if (words == report.words.end()) return {};
  std::string link = "/search?domain=" + percent_encoded(domain);
  for (const auto& [name, value] : words->second.slots)
    link += "&slot." + percent_encoded(name) + "=" + percent_encoded(value);
  return link;
}

/// Lists the queries that gain and lose most against RRF, each with links to both rankings.
void add_shifts(const std::string& domain, const EvaluationReport& report, View& page) {
  const ReportedMethod* rrf = rrf_of(report);
  if (!report.has_table() || rrf == nullptr) return;
  std::vector<std::size_t> order(report.queries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto gain = [&](std::size_t q) { return rrf->best_rank[q] - report.learner.best_rank[q]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return gain(a) > gain(b); });
  const auto add = [&](const char* title, bool is_gain) {
    View part;
    part.set("TITLE", title).set("DEPTH", std::to_string(report.depth));
    part.set("BEYOND", std::to_string(report.depth + 1));
    for (std::size_t i = 0; i < std::min(kMostShifts, order.size()); ++i) {
      const std::size_t q = is_gain ? order[i] : order[order.size() - 1 - i];
      if (is_gain ? gain(q) <= 0 : gain(q) >= 0) break;
      const std::string link = search_link(domain, report, report.queries[q]);
      const auto words = report.words.find(report.queries[q]);
      View& row = part.add("SHIFT");
      row.set("WORDS", words == report.words.end() ? report.queries[q] : words_of(words->second));
      const auto add_rank = [&](const char* name, int rank, const std::string& url) {
        const std::string text = std::to_string(rank);
        View& cell = row.add(name);
        cell.add(url.empty() ? "PLAIN" : "LINK").set("RANK", text).set("URL", url);
      };
      add_rank("BEFORE", rrf->best_rank[q], link.empty() ? link : link + "&fusion=rrf");
      add_rank("AFTER", report.learner.best_rank[q], link);
    }
    if (!part.parts.empty()) page.parts.push_back({"SHIFTS", std::move(part)});
  };
  add("Most gained against RRF", true);
  add("Most lost against RRF", false);
}

/// Plots what a rank in each list adds to the score, if the model is a sum over lists.
void add_rank_weights(const LoadedDomain& domain, View& page) {
  if (!domain.model) return;
  const fusion::SumRanker* ranker = domain.model->ranker->sum();
  if (ranker == nullptr) return;
  std::vector<Curve> curves;
  for (std::size_t f = 0; f < domain.model->features.size(); ++f) {
    const fusion::Feature& feature = domain.model->features[f];
    if (feature.kind != fusion::FeatureKind::rank || !ranker->uses(f)) continue;
    Curve curve{feature.name, {}, {}, true};
    for (int rank = 1; rank <= domain.domain.depth; ++rank) {
      curve.x.push_back(rank);
      curve.y.push_back(ranker->at_rank(f, static_cast<std::uint32_t>(rank)));
    }
    curves.push_back(std::move(curve));
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
  PlotTable table{title, {"engine", "lists", "mean, ms", "95th percentile at most, ms"}};
  for (const auto& engine : engines) {
    const double mean = engine.mean_seconds * 1e3;
    const double most = engine.p95_seconds * 1e3;
    bars.push_back({engine.engine, mean, most, decimals(mean, 2) + " | " + decimals(most, 1) + " ms"});
    table.rows.push_back({engine.engine, std::to_string(engine.lists), decimals(mean, 2), decimals(most, 1)});
  }
  add_picture(page, bars_svg(bars, title), table);
}

}  // namespace

std::string evaluation_page(const Exchange& exchange, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem) {
  View view = page_view(&exchange, "Evaluation of " + domain.domain.name, "", domain.domain.name);
  view.set("NAME", domain.domain.name);
  if (const auto domains = exchange.domains(); domains.size() > 1) {
    View& others = view.add("OTHERS");
    for (const LoadedDomain* other : domains) others.add("OTHER").set("NAME", other->domain.name);
  }
  if (!problem.empty())
    view.add("PROBLEM").set("TEXT", problem);
  else if (report.is_empty())
    view.add("NO_REPORT").set("NAME", domain.domain.name);
  add_table(report, view);
  add_comparison(report, view);
  add_top_k(report, view);
  add_wins(report, view);
  add_shifts(domain.domain.name, report, view);
  add_curves(report, view);
  add_loss(report, view);
  add_rank_weights(domain, view);
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
  const char* verdict = "This does not decide it yet.";
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
    const bool is_champion = version.version == state.champion;
    View& row = versions.add("VERSION");
    row.set("ID", version.version)
        .set("LEARNER", version.learner)
        .set("ORIGIN", version.origin)
        .set("TIME", version.at > 0 ? utc_text(version.at) : "before there was a store")
        .set("ROLE", is_champion                           ? "champion"
                     : version.version == state.challenger ? "challenger "
                                                           : "");
    if (!is_champion) row.add("CHOOSE");
  }
}

void add_state(const DomainModels& models, bool is_served_by_prior, View& item) {
  const ModelState& state = models.state;
  View& view = item.add("STATE");
  view.set("CHAMPION", named(state.champion, is_served_by_prior ? "none: what other domains learned serves it"
                                                                : "none: fused by RRF"))
      .set("CHALLENGER", named(state.challenger, "none yet"))
      .set("PREVIOUS", state.history.empty() ? "none yet" : named(state.history.back(), "no model: RRF"));
  add_story(models.story, view);
  if (models.score) add_score(*models.score, view);
  add_versions(state, view);
}

}  // namespace

std::string model_page(const Exchange& exchange, const ModelPageState& state) {
  View view = page_view(&exchange, "Models", "", "");
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
      if (models.domain == name) add_state(models, domain->is_model_prior, actions);
  }
  return render_page("models", view);
}

}  // namespace metafuse::service
