#include "service/learning/promotion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/number.h"
#include "evaluation/significance/significance.h"
#include "fusion/model/fuse.h"
#include "fusion/training/registry.h"
#include "service/learning/store_training.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kCutoff = 10;
constexpr std::uint64_t kSeed = 1;

/// The documents of a search in a model's order, or by RRF without a model.
std::vector<std::string_view> ranking(const StoredSearch& search, const fusion::Model* model) {
  std::vector<std::string_view> out;
  if (model != nullptr) {
    const auto fused = fusion::fuse(*model, stored_instances(search, model->features));
    for (const std::uint32_t i : fused.order) out.push_back(fused.instances.documents[i]);
    return out;
  }
  const auto instances = stored_instances(search, rank_features(search));
  const fusion::Feature rrf = (*fusion::derived_features("rrf", {})).front();
  std::vector<double> scores;
  for (std::size_t i = 0; i < instances.documents.size(); ++i)
    scores.push_back(fusion::derived_value(rrf, instances.ranks_of(i)));
  for (const std::uint32_t i : fusion::order_instances(instances, scores))
    out.push_back(instances.documents[i]);
  return out;
}

double gain_at(int grade, std::size_t position) {
  return (std::exp2(grade) - 1) / std::log2(static_cast<double>(position) + 2);
}

/// NDCG@10 with gains 2^grade - 1 over all judged documents; nothing if none is relevant.
std::optional<double> ndcg(const std::vector<std::string_view>& order,
                           const std::map<std::string, int>& grades) {
  std::vector<int> ideal;
  for (const auto& [document, grade] : grades) ideal.push_back(grade);
  std::sort(ideal.begin(), ideal.end(), std::greater<>());
  double best = 0;
  for (std::size_t i = 0; i < std::min(kCutoff, ideal.size()); ++i) best += gain_at(ideal[i], i);
  if (best <= 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < std::min(kCutoff, order.size()); ++i)
    if (const auto at = grades.find(std::string(order[i])); at != grades.end()) sum += gain_at(at->second, i);
  return sum / best;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Compares two models on the judgments of the held-out base queries.
///
/// in: champion - nullptr for RRF
Result<PromotionReport> measure_models(Store& store, std::string_view domain, const fusion::Model* champion,
                                       const fusion::Model& challenger) {
  TRY(const auto judged, store.judgments.queries(domain));
  std::vector<double> old_values;
  std::vector<double> new_values;
  for (const JudgedQuery& query : judged) {
    if (!is_held_out(query.query)) continue;
    TRY(const auto search, store.searches.find(query.search));
    if (!search || common_features(*search, challenger.features) == 0) continue;
    const auto grades = grades_of(query);
    const auto new_value = ndcg(ranking(*search, &challenger), grades);
    if (!new_value) continue;
    old_values.push_back(*ndcg(ranking(*search, champion), grades));
    new_values.push_back(*new_value);
  }
  PromotionReport report;
  report.queries = new_values.size();
  report.champion = mean(old_values);
  report.challenger = mean(new_values);
  report.p = evaluation::randomisation_test(new_values, old_values, kSeed);
  return report;
}

/// in: test - number of this test among those against this champion, from 1
void decide(PromotionReport& report, const PromotionRules& rules, std::uint32_t test) {
  report.level = level_of_test(rules.level, test);
  report.is_better = false;
  if (report.queries < rules.fewest_queries)
    report.reason =
        fmt::format("only {} held-out judged queries; {} are needed", report.queries, rules.fewest_queries);
  else if (report.challenger <= report.champion)
    report.reason = "the challenger is not better";
  else if (report.p >= report.level)
    report.reason =
        fmt::format("the difference may be chance: p = {:.4g}, needed below {:.4g}", report.p, report.level);
  else {
    report.is_better = true;
    report.reason = fmt::format("the challenger is better: p = {:.4g} below {:.4g}", report.p, report.level);
  }
}

/// Identifies what a test compared: the same challenger on the same judgments is the same test, however often
/// it runs.
std::string subject_of(const std::string& challenger, const PromotionReport& report) {
  std::string out = challenger + ' ' + std::to_string(report.queries);
  for (const double value : {report.champion, report.challenger, report.p}) append_number(out += ' ', value);
  return out;
}

}  // namespace

double level_of_test(double level, std::uint32_t test) {
  const double n = std::max<std::uint32_t>(1, test);
  return level / (n * (n + 1));
}

Result<RetrainOutcome> retrain(Store& store, ModelVersions& versions, const RetrainOptions& options) {
  TRY(const fusion::Learner* const learner, fusion::learner_named(options.learner));
  RetrainOutcome outcome;
  StoreTrainingOptions training = options.training;
  training.are_held_out_used = false;
  TRY(const auto set, training_set_from_store(store, training, &outcome.report));
  fusion::TrainingRequest request;
  request.train = &set;
  request.options = options.options;
  request.seed = options.seed;
  request.threads = options.threads;
  request.trace.is_wanted = false;
  TRY(auto trained, learner->train(request));
  TRY(outcome.version, versions.add_challenger(training.domain, trained.model, "retrain", training.now));
  TRY(const auto state, versions.state(training.domain));
  outcome.is_champion_again = state.champion == outcome.version;
  outcome.summary = std::move(trained.summary);
  return outcome;
}

Result<PromotionReport> promote_if_better(Store& store, ModelVersions& versions, std::string_view domain,
                                          const PromotionRules& rules, bool is_automatic) {
  TRY(const auto state, versions.state(domain));
  if (state.challenger.empty())
    return fail(Code::usage, "domain " + std::string(domain) + " has no challenger; retrain first");
  TRY(const auto challenger, versions.read(domain, state.challenger));
  std::optional<fusion::Model> champion;
  if (!state.champion.empty()) {
    TRY(champion, versions.read(domain, state.champion));
  }
  TRY(auto report, measure_models(store, domain, champion ? &*champion : nullptr, challenger));
  decide(report, rules, state.tests + 1);
  if (report.queries < rules.fewest_queries) return report;
  const std::string subject = subject_of(state.challenger, report);
  if (state.tests > 0 && state.tested == subject) decide(report, rules, state.tests);
  if (!is_automatic) return report;
  if (state.is_promotion_paused) {
    report.is_better = false;
    report.reason = "the previous champion was restored; activate a version to resume promotion";
    return report;
  }
  TRY_VOID(versions.count_test(domain, subject));
  if (report.is_better) TRY_VOID(versions.activate(domain, state.challenger));
  return report;
}

}  // namespace metafuse::service
