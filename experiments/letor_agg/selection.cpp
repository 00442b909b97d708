#include "experiments/letor_agg/selection.h"

#include <algorithm>
#include <utility>

#include "experiments/interval.h"
#include "experiments/letor_agg/peer.h"

namespace metafuse::experiments::letor_agg {
namespace {

struct Rounds {
  std::size_t count = 0;
  double value = -1.0;
};

/// The number of rounds of the highest mean over folds; a fold whose training ended early stays as it was.
Rounds best_rounds(const std::vector<std::vector<double>>& curves) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  Rounds best;
  for (std::size_t t = 0; t < longest; ++t) {
    double mean = 0.0;
    for (const auto& curve : curves)
      if (!curve.empty()) mean += curve[std::min(t, curve.size() - 1)] / static_cast<double>(curves.size());
    if (mean > best.value) best = {t + 1, mean};
  }
  return best;
}

std::string rounds_text(const Ours& ours) {
  std::string text;
  for (const char* set : kSets) text += (text.empty() ? "" : ", ") + std::to_string(ours.rounds.at(set));
  return text;
}

}  // namespace

Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, PaperReport& report) {
  Ours best;
  JsonArray json;
  const std::vector<Candidate> all = candidates(options.size);
  std::vector<std::vector<std::string>> rows = {{"configuration", "rounds", "validation"}};
  std::size_t done = 0;
  for (const Candidate& candidate : all) {
    std::map<std::string, std::vector<std::vector<double>>> curves;  // by set
    for (const Fold& fold : folds) {
      TRY(auto curve, validation_curve(fold, candidate, measures, options));
      curves[fold.set].push_back(std::move(curve));
      if (options.progress) options.progress(++done, (all.size() + 1) * folds.size());
    }
    Ours found{candidate, {}, 0.0};
    JsonObject rounds;
    for (const char* set : kSets) {
      const Rounds of_set = best_rounds(curves.at(set));
      found.rounds[set] = of_set.count;
      found.value += of_set.value / static_cast<double>(kSets.size());
      rounds[set] = of_set.count;
    }
    rows.push_back({candidate.name, rounds_text(found), fixed(found.value, 4)});
    json.push_back(JsonObject{
        {"configuration", candidate.name}, {"rounds", std::move(rounds)}, {"validation", found.value}});
    if (found.value > best.value) best = found;
  }
  report.text += columns(rows) + "chosen: " + best.candidate.name + "; rounds " + rounds_text(best) + "\n\n";
  report.json["validation"] = std::move(json);
  report.json["chosen"] = best.candidate.name;
  return best;
}

Result<std::vector<std::string>> choose_peers(const std::vector<Fold>& folds,
                                              const evaluation::MeasureSet& measures,
                                              const ExperimentOptions& options, PaperReport& report) {
  TRY(const auto names, peer_configurations(options.peer_runs));
  std::vector<double> values(names.size(), 0.0);
  for (const Fold& fold : folds) {
    TRY(const auto set, read_parts({fold.validate}, {}));
    for (std::size_t i = 0; i < names.size(); ++i) {
      TRY(const auto measured, peer_values(options.peer_runs, names[i], fold, "validation", set, measures));
      values[i] += criterion(measured) / static_cast<double>(folds.size());
    }
  }
  std::vector<std::string> chosen;
  if (names.empty()) return chosen;
  JsonArray json;
  std::vector<std::vector<std::string>> rows = {{"other learner", "validation"}};
  std::map<std::string, std::size_t> best;  // by what stands behind the comma
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    rows.push_back({name, fixed(values[i], 4)});
    json.push_back(JsonObject{{"configuration", name}, {"validation", values[i]}});
    std::size_t& leader = best.emplace(name.substr(std::min(name.find(','), name.size())), i).first->second;
    if (values[i] > values[leader]) leader = i;
  }
  report.text += columns(rows);
  for (const auto& [way, i] : best) {
    chosen.push_back(names[i]);
    report.text += "chosen: " + chosen.back() + "\n";
  }
  report.text += "\n";
  report.json["peer_validation"] = std::move(json);
  return chosen;
}

}  // namespace metafuse::experiments::letor_agg
