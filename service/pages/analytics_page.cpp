#include "service/pages/analytics_page.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "service/base/dates.h"
#include "service/pages/page.h"
#include "service/pages/svg_views.h"

namespace metafuse::service {
namespace {

constexpr std::array kDayChoices = {7, 30, 90, 365};

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_days(const Analytics& analytics, View& page) {
  evaluation::Curve searches{"searches", {}, {}, true};
  evaluation::Curve empty{"without results", {}, {}, true};
  evaluation::Curve clicks{"clicks", {}, {}, true};
  PlotTable table{"Searches by day (UTC)", {"day", "searches", "without results", "clicks"}};
  const std::int64_t first = analytics.days.front().day;
  for (const DayFigures& day : analytics.days) {
    for (auto* curve : {&searches, &empty, &clicks})
      curve->x.push_back(static_cast<double>(day.day - first + 1));
    searches.y.push_back(static_cast<double>(day.searches));
    empty.y.push_back(static_cast<double>(day.empty));
    clicks.y.push_back(static_cast<double>(day.clicks));
    table.rows.push_back({iso_day(day.day * kSecondsPerDay), std::to_string(day.searches),
                          std::to_string(day.empty), std::to_string(day.clicks)});
  }
  const evaluation::PlotText text{
      table.title,
      fmt::format("day of the period, which ends today and began on {}", iso_day(first * kSecondsPerDay)),
      "per day"};
  add_picture(page, evaluation::svg_plot({searches, empty, clicks}, text), table);
}

void add_positions(const Analytics& analytics, View& page) {
  if (analytics.clicks() == 0) return;  // a plot of zeros says nothing
  PlotTable table{"Click rate by position: clicks for each time that a result was shown there",
                  {"position", "shown", "clicks", "click rate"}};
  std::vector<Bar> bars;
  for (const PositionFigures& at : analytics.positions) {
    const std::string rate = share_text(at.click_rate());
    bars.push_back({std::to_string(at.position), at.click_rate(), 0, rate});
    table.rows.push_back(
        {std::to_string(at.position), std::to_string(at.shown), std::to_string(at.clicks), rate});
  }
  if (bars.size() > 10) bars.resize(10);
  add_picture(page, bars_svg(bars, table.title, false), table);
}

void add_first_clicks(const Analytics& analytics, View& page) {
  if (analytics.first_click_seconds.empty()) return;
  constexpr std::array<std::pair<std::int64_t, const char*>, 6> kUpTo = {{{5, "up to 5 s"},
                                                                          {10, "up to 10 s"},
                                                                          {30, "up to 30 s"},
                                                                          {60, "up to a minute"},
                                                                          {300, "up to 5 minutes"},
                                                                          {INT64_MAX, "later"}}};
  const auto& seconds = analytics.first_click_seconds;
  PlotTable table{fmt::format("Time to the first click; half of the clicks came within {} s",
                              *analytics.median_first_click()),
                  {"time", "searches", "share"}};
  std::vector<Bar> bars;
  auto from = seconds.begin();
  for (const auto& [limit, name] : kUpTo) {
    const auto to = std::upper_bound(from, seconds.end(), limit);
    const auto count = static_cast<std::uint64_t>(to - from);
    const std::string share = share_text(share_of(count, seconds.size()));
    bars.push_back({name, static_cast<double>(count), 0, share});
    table.rows.push_back({name, std::to_string(count), share});
    from = to;
  }
  add_picture(page, bars_svg(bars, table.title, false), table);
}

void add_engines(const Analytics& analytics, View& page) {
  double clicks = 0;
  std::uint64_t failures = 0;
  for (const EngineFigures& engine : analytics.engines) {
    clicks += engine.clicks;
    failures += engine.failed;
  }
  if (clicks <= 0 && failures == 0) return;  // a plot of zeros says nothing
  PlotTable table{
      fmt::format("Engines' share of clicks (bar) and of failed lists (mark), in the latest {} answers",
                  analytics.engine_searches),
      {"engine", "lists", "failed", "share failed", "share of clicks"}};
  std::vector<Bar> bars;
  for (const EngineFigures& engine : analytics.engines) {
    const double failed = share_of(engine.failed, engine.lists);
    const double share = clicks > 0 ? engine.clicks / clicks : 0;
    bars.push_back({engine.engine, share, failed, share_text(share) + " | " + share_text(failed)});
    table.rows.push_back({engine.engine, std::to_string(engine.lists), std::to_string(engine.failed),
                          share_text(failed), share_text(share)});
  }
  add_picture(page, bars_svg(bars, table.title), table);
}

void add_queries(const std::string& title, const std::vector<QueryFigures>& queries, View& page) {
  if (queries.empty()) return;
  View& table = page.add("QUERIES");
  table.set("TITLE", title);
  for (const QueryFigures& query : queries)
    table.add("ROW")
        .set("WORDS", query.words.empty() ? "(not known)" : query.words)
        .set("SEARCHES", std::to_string(query.searches))
        .set("EMPTY", std::to_string(query.empty))
        .set("CLICKS", std::to_string(query.clicks))
        .set("EARLIER", std::to_string(query.earlier))
        .set("LATER", std::to_string(query.later));
}

void add_figures(const Analytics& analytics, View& page) {
  const auto add = [&](const char* name, const std::string& value) {
    page.add("FIGURE").set("NAME", name).set("VALUE", value);
  };
  add("searches", std::to_string(analytics.searches()));
  add("without results", fmt::format("{} ({})", analytics.empty_searches(),
                                     share_text(share_of(analytics.empty_searches(), analytics.searches()))));
  add("clicks", analytics.clicks_from > 0
                    ? fmt::format("{} since {}", analytics.clicks(), utc_text(analytics.clicks_from))
                    : fmt::format("{} ({:.2f} per search)", analytics.clicks(),
                                  share_of(analytics.clicks(), analytics.searches())));
  if (const auto median = analytics.median_first_click())
    add("median time to the first click", fmt::format("{} s", *median));
}

}  // namespace

std::string analytics_page(const Exchange& exchange, const LoadedDomain& domain,
                           const AnalyticsPageState& state) {
  const std::string& name = domain.domain.name;
  View view = page_view(&exchange, "Analytics of " + name, "", name);
  view.set("NAME", name);
  if (!state.wrong.empty()) view.add("WRONG").set("TEXT", state.wrong);
  if (state.is_off) {
    view.add("OFF");
    return render_page("analytics", view);
  }
  View& form = view.add("FORM").set("NAME", name);
  for (const int days : kDayChoices) {
    View& option = form.add("DAYS").set("VALUE", std::to_string(days));
    if (days == state.days) option.add("SELECTED");
  }
  if (!state.analytics) return render_page("analytics", view);
  for (const std::string_view table : kAnalyticsTables) form.add("TABLE").set("NAME", table);
  const Analytics& analytics = *state.analytics;
  View& inside = view.add("INSIDE");
  if (state.are_queries_hashed) inside.add("HASHED");
  add_figures(analytics, inside);
  add_days(analytics, inside);
  add_positions(analytics, inside);
  add_first_clicks(analytics, inside);
  add_engines(analytics, inside);
  add_queries("Most asked", analytics.top, inside);
  add_queries("Rising: asked clearly more often in the second half of the period", analytics.rising, inside);
  add_queries("Without results", analytics.empty, inside);
  return render_page("analytics", view);
}

}  // namespace metafuse::service
