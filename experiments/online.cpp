#include "experiments/online.h"

#include <algorithm>

#include "core/atomic_file.h"
#include "core/json.h"
#include "evaluation/reports/svg_plot.h"
#include "experiments/online_trial.h"

namespace metafuse::experiments {
namespace {

std::string padded_to(std::string text, std::size_t width) {
  // "±" is two bytes and one column.
  const std::size_t columns =
      text.size() - static_cast<std::size_t>(std::count(text.begin(), text.end(), '\xc2'));
  return columns < width ? text + std::string(width - columns, ' ') : text + " ";
}

std::string published(const OnlineTask& task, const std::string& row) {
  for (const auto& [name, figure] : task.published)
    if (name == row) return figure;
  return "-";
}

std::string table_text(const OnlineTask& task, const OnlineTable& table) {
  std::string out = task.name + ": mean |rank predicted - rank| on the test examples, " +
                    std::to_string(task.trials) + " trials, 95 % intervals (Student's t)\n  " + task.note +
                    "\n";
  out += padded_to("method", 20) + padded_to("loss", 18) + padded_to("rounded to ranks", 18) + "paper\n";
  for (const OnlineRow& row : table.rows)
    out += padded_to(row.name, 20) + padded_to(to_text(row.loss, 3), 18) +
           padded_to(to_text(row.rounded_loss, 3), 18) + published(task, row.name) + "\n";
  if (table.noise_floor >= 0.0) out += padded_to("noise floor", 20) + fixed(table.noise_floor, 3) + "\n";
  return out + "\n";
}

/// Fig. 2 and 3 draw one setting of each method.
std::string plot_of(const OnlineTask& task, const OnlineTable& table) {
  std::vector<evaluation::Curve> curves;
  for (const OnlineRow& row : table.rows) {
    const bool is_first_tau = row.name.ends_with(" " + fixed(task.taus[0], 1)) && row.name.starts_with("oap");
    const bool is_widrow_hoff = row.name == (task.is_polynomial ? "widrow-hoff 0.1" : "widrow-hoff 0.01");
    if (is_first_tau || is_widrow_hoff || row.name == "prank")
      curves.push_back({row.name, table.steps, row.curve});
  }
  return evaluation::svg_plot(curves, {task.name, "examples seen", "mean rank loss so far", true});
}

JsonObject json_of(const OnlineTask& task, const OnlineTable& table) {
  JsonArray rows;
  for (const OnlineRow& row : table.rows)
    rows.push_back(JsonObject{{"method", row.name},
                              {"loss", row.loss.mean},
                              {"half_width", row.loss.half_width},
                              {"rounded_loss", row.rounded_loss.mean},
                              {"rounded_half_width", row.rounded_loss.half_width},
                              {"paper", published(task, row.name)},
                              {"curve", JsonArray(row.curve.begin(), row.curve.end())}});
  JsonObject out{{"task", task.name}, {"trials", task.trials}, {"note", task.note}};
  out["steps"] = JsonArray(table.steps.begin(), table.steps.end());
  if (table.noise_floor >= 0.0) out["noise_floor"] = table.noise_floor;
  out["rows"] = std::move(rows);
  return out;
}

}  // namespace

Result<std::string> run_online(const ExperimentOptions& options) {
  const bool is_quick = options.size == ExperimentOptions::Size::quick;
  std::vector<OnlineTask> tasks = {synthetic_task(is_quick ? 3 : 20)};
  for (const CysticFibrosisForm form : {CysticFibrosisForm{false, false}, CysticFibrosisForm{false, true},
                                        CysticFibrosisForm{true, false}, CysticFibrosisForm{true, true}}) {
    TRY(auto task, cystic_fibrosis_task(options.data, is_quick ? 20 : 500, form));
    tasks.push_back(std::move(task));
  }
  TRY(auto movielens, movielens_task(options.data, is_quick ? 20 : 500));
  tasks.push_back(std::move(movielens));
  std::string text;
  std::vector<std::string> plots;
  JsonArray json;
  for (const OnlineTask& task : tasks) {
    TRY(const auto table, run_trials(task, options));
    text += table_text(task, table);
    plots.push_back(plot_of(task, table));
    json.push_back(json_of(task, table));
  }
  text +=
      "OHSUMED's file with three judges a pair is no longer to be had, so its column of table 2 is not "
      "remade.\n";
  if (options.output.empty()) return text;
  for (const auto& [name, content] :
       {std::pair<std::string, std::string>{"/online.txt", text},
        {"/online.json", to_pretty_text(Json(json))},
        {"/online.html", evaluation::html_page("Online rankers (Harrington 2003)", text, plots)}})
    TRY_VOID(write_file(options.output + name, content));
  return text;
}

}  // namespace metafuse::experiments
