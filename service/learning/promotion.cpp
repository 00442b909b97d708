#include "service/learning/promotion.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/number.h"
#include "evaluation/significance/significance.h"
#include "fusion/model/fuse.h"
#include "fusion/training/calibration.h"
#include "fusion/training/pooling.h"
#include "fusion/training/registry.h"
#include "service/learning/store_training.h"

namespace metafuse::service {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kMostPooled =
    200;  // the latest judged queries of other domains, so that training stays quick

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Compares two orders on the judgments of the held-out base queries.
Result<PromotionReport> measure_models(Store& store, std::string_view domain, const ServedOrder& champion,
                                       const fusion::Model& challenger) {
  TRY(const auto values, measure_on_held_out(store, domain, champion, challenger));
  PromotionReport report;
  report.queries = values.after.size();
  report.champion = mean(values.before);
  report.challenger = mean(values.after);
  report.p = evaluation::randomisation_test(values.after, values.before, kSeed);
  return report;
}

/// in: test - number of this test among those against this champion, from 1
void decide(PromotionReport& report, const PromotionRules& rules, std::uint32_t test) {
  report.level = level_of_test(rules.level, test);
  report.is_better = report.challenger > report.champion && report.p < report.level;
  report.reason = fmt::format("{} held-out judged queries: NDCG@10 {:.3f} before, {:.3f} now; ",
                              report.queries, report.champion, report.challenger);
  if (report.challenger <= report.champion)
    report.reason += "the challenger is not better";
  else if (report.p >= report.level)
    report.reason +=
        fmt::format("the difference may be chance: p = {:.4g}, needed below {:.4g}", report.p, report.level);
  else
    report.reason += fmt::format("the challenger is better: p = {:.4g} below {:.4g}", report.p, report.level);
}

/// The report of a challenger by its cross-validation.
///
/// in: held_out - judged queries that are held out now
PromotionReport report_of_gain(const JudgedGain& gain, const PromotionRules& rules, std::size_t held_out) {
  PromotionReport report;
  report.measure = "recip_rank";
  report.queries = gain.queries;
  report.champion = gain.before;
  report.challenger = gain.after;
  report.is_better = gain.queries >= 2 && gain.after >= gain.before;
  report.reason = gain_text(gain);
  if (gain.queries < 2) return report;
  report.reason +=
      fmt::format("; the new order {} because it {} the other, standard error {:.2f} (a test follows {})",
                  report.is_better ? "is used" : "is not used",
                  report.is_better ? "is not below" : "is below", gain.error,
                  held_out >= rules.fewest_queries
                      ? "with the next training, which leaves out the held-out queries"
                      : fmt::format("once {} held-out queries are judged", rules.fewest_queries));
  return report;
}

/// The report of a challenger about which neither held-out queries nor a cross-validation say anything.
PromotionReport unmeasurable() {
  PromotionReport report;
  report.reason =
      "the challenger was trained on the held-out queries, so it cannot be tested on them; train "
      "again";
  return report;
}

/// Identifies what a test compared: the same challenger on the same judgments is the same test, however often
/// it runs.
std::string subject_of(const std::string& challenger, const PromotionReport& report) {
  std::string out = challenger + ' ' + std::to_string(report.queries);
  for (const double value : {report.champion, report.challenger, report.p}) append_number(out += ' ', value);
  return out;
}

bool was_trained_on_all(const ModelState& state, std::string_view version) {
  return std::any_of(state.versions.begin(), state.versions.end(), [&](const ModelVersion& item) {
    return item.version == version && item.origin == kTrainedOnAll;
  });
}

/// The order with which a challenger is compared on held-out queries: the champion's, or the one without a
/// champion, also if the champion was trained on these queries: then their judgments say nothing about it.
class ComparedOrder {
 public:
  static Result<ComparedOrder> of(ModelVersions& versions, std::string_view domain, const ModelState& state,
                                  const PromotionRules& rules) {
    ComparedOrder out;
    out.without_ = rules.without_champion;
    if (state.champion.empty() || was_trained_on_all(state, state.champion)) return out;
    TRY(out.champion_, versions.read(domain, state.champion));
    return out;
  }
  /// It refers to this object.
  ServedOrder order() const { return champion_ ? ServedOrder{&*champion_, without_.rrf_k} : without_; }

 private:
  std::optional<fusion::Model> champion_;
  ServedOrder without_;
};

/// The learner's options, with the k of the domain's RRF if it uses one.
std::map<std::string, std::string> learner_options(const RetrainOptions& options,
                                                   const fusion::Learner& learner) {
  auto out = options.options;
  if (std::ranges::find(learner.options, "k", &fusion::LearnerOption::name) != learner.options.end())
    out.emplace("k", fmt::format("{}", options.rules.without_champion.rrf_k));
  return out;
}

/// The values of a base query, whatever the slots are called; empty if its words are not known.
std::string asked_text(const BaseQuery& slots) {
  std::string out;
  for (const auto& [slot, value] : canonical_query(slots, {}).slots) out += value + '\n';
  return out;
}

/// The base queries that people judged in a domain.
class JudgedHere {
 public:
  static Result<JudgedHere> read(Store& store, const StoreTrainingOptions& training) {
    JudgedHere out;
    out.domain_ = training.domain;
    TRY(out.secret_, store.privacy.secret());
    TRY(const auto judged, judged_by_people(store, training.domain));
    for (const JudgedQuery& query : judged) {
      out.digests_.insert(query.query);
      TRY(const auto search, search_to_learn(store, training.domain, query, training.features));
      if (search) out.texts_.insert(asked_text(search->slots));
    }
    return out;
  }

  /// Whether another domain's query may be one of them. The values tell, whatever either domain calls their
  /// slots; the digest, whichever slot is the plain one, tells also where the store no longer has the words.
  bool may_have(const BaseQuery& slots) const {
    const auto is_judged = [&](std::string_view plain_slot) {
      return digests_.contains(query_digest(secret_, domain_, slots, plain_slot));
    };
    return texts_.contains(asked_text(slots)) || is_judged({}) ||
           std::ranges::any_of(slots.slots, [&](const auto& slot) { return is_judged(slot.first); });
  }

 private:
  std::string domain_, secret_;
  std::set<std::string> digests_, texts_;
};

/// What people judged in the domains that ask the same lists, the latest queries first, without those that
/// are held out there, and without those that were judged here too: they may be held out here. Those whose
/// words are not known, so that nobody can tell, are left out, too.
Result<fusion::TrainingSet> pooled_queries(Store& store, const RetrainOptions& options) {
  StoreTrainingOptions training = options.training;
  TRY(const JudgedHere own, JudgedHere::read(store, training));
  training.domain.clear();
  training.judges = {};
  training.are_held_out_used = false;
  for (const std::string& domain : options.pooled) {
    TRY(const auto judged, judged_by_people(store, domain));
    for (const JudgedQuery& query : judged) {
      TRY(auto search, search_to_learn(store, domain, query, training.features));
      if (!search || asked_text(search->slots).empty() || own.may_have(search->slots)) continue;
      training.offline.push_back({std::move(*search), grades_of(query)});
    }
  }
  std::ranges::stable_sort(training.offline, std::greater<>(),
                           [](const OfflineQuery& query) { return query.search.at; });
  if (training.offline.size() > kMostPooled) training.offline.resize(kMostPooled);
  return training_set_from_store(store, training);
}

/// The learner, which also takes over other domains' judged queries if there are any.
Result<fusion::Learner> learner_with_others(Store& store, const RetrainOptions& options) {
  TRY(const fusion::Learner* const learner, fusion::learner_named(options.learner));
  if (options.pooled.empty() || !learner->can.start_from) return *learner;
  TRY(auto others, pooled_queries(store, options));
  if (others.queries.empty()) return *learner;
  return fusion::pooled_learner(*learner, std::move(others));
}

Result<JudgedGain> gain_of(Store& store, ModelVersions& versions, const RetrainOptions& options,
                           const fusion::TrainingSet& set, const fusion::Learner& learner) {
  const std::string& domain = options.training.domain;
  TRY(const auto state, versions.state(domain));
  TRY(const auto before, ComparedOrder::of(versions, domain, state, options.rules));
  return cross_validated_gain(store, {.domain = domain,
                                      .set = &set,
                                      .before = before.order(),
                                      .learner = &learner,
                                      .prior = learner.can.start_from ? options.prior.get() : nullptr,
                                      .options = learner_options(options, learner),
                                      .seed = options.seed,
                                      .threads = options.threads});
}

}  // namespace

double level_of_test(double level, std::uint32_t test) {
  const double n = std::max<std::uint32_t>(1, test);
  return level / (n * (n + 1));
}

Result<RetrainOutcome> retrain(Store& store, ModelVersions& versions, const RetrainOptions& options) {
  TRY(const fusion::Learner own_learner, learner_with_others(store, options));
  const fusion::Learner* const learner = &own_learner;
  RetrainOutcome outcome;
  StoreTrainingOptions training = options.training;
  TRY(const std::size_t held_out, held_out_queries(store, training.domain, training.features));
  const bool is_early = held_out < options.rules.fewest_queries;
  training.are_held_out_used = is_early;
  TRY(const auto set, training_set_from_store(store, training, &outcome.report));
  if (!outcome.report.has_feedback()) {
    outcome.too_little = outcome.report.too_little(training.domain);
    return outcome;
  }
  fusion::TrainingRequest request;
  request.train = &set;
  if (learner->can.start_from) request.prior = options.prior.get();
  request.options = learner_options(options, *learner);
  request.seed = options.seed;
  request.threads = options.threads;
  request.trace.is_wanted = false;
  auto trained = learner->train(request);
  if (!trained && trained.error().code == Code::bad_data) {  // such as a set without crucial pairs
    outcome.too_little = std::move(trained.error().text);
    return outcome;
  }
  TRY_VOID(trained);
  fusion::note_judge(outcome.report.judge(training.judges), trained->model.training);
  TRY_VOID(fusion::calibrate_if_possible(request, *learner, *trained));
  if (options.choice) TRY_VOID(fusion::choose_lists(request, *learner, *options.choice, *trained));
  if (is_early) {
    TRY(outcome.gain, gain_of(store, versions, options, set, *learner));
  }
  TRY(outcome.version, versions.add_challenger(training.domain, trained->model,
                                               is_early ? kTrainedOnAll : kTrained, training.now));
  if (outcome.gain) outcome.gain->version = outcome.version;
  TRY_VOID(versions.note_gain(training.domain, outcome.gain));
  TRY(const auto state, versions.state(training.domain));
  outcome.is_champion_again = state.champion == outcome.version;
  outcome.summary = std::move(trained->summary);
  return outcome;
}

std::string no_challenger(std::string_view domain) {
  return fmt::format(
      "domain {} has no challenger: none was trained yet, or nothing has changed since the champion was "
      "trained",
      domain);
}

Result<PromotionReport> promote_if_better(Store& store, ModelVersions& versions, std::string_view domain,
                                          const PromotionRules& rules, bool is_automatic) {
  TRY(const auto state, versions.state(domain));
  if (state.challenger.empty()) return fail(Code::usage, no_challenger(domain));
  TRY(const auto challenger, versions.read(domain, state.challenger));
  TRY(const auto before, ComparedOrder::of(versions, domain, state, rules));
  TRY(auto report, measure_models(store, domain, before.order(), challenger));
  const bool has_seen_all = was_trained_on_all(state, state.challenger);
  const bool is_tested = report.queries >= rules.fewest_queries && !has_seen_all;
  if (is_tested) {
    decide(report, rules, state.tests + 1);
  } else if (state.gain && state.gain->version == state.challenger) {
    report = report_of_gain(*state.gain, rules, report.queries);
  } else if (has_seen_all) {
    return unmeasurable();
  } else {
    report.reason =
        fmt::format("only {} held-out judged queries; {} are needed", report.queries, rules.fewest_queries);
    return report;
  }
  const std::string subject = subject_of(state.challenger, report);
  if (is_tested && state.tests > 0 && state.tested == subject) decide(report, rules, state.tests);
  if (!is_automatic) return report;
  if (state.is_promotion_paused) {
    report.is_better = false;
    report.reason = "the previous champion was restored; activate a version to resume promotion";
    return report;
  }
  if (is_tested) TRY_VOID(versions.count_test(domain, subject));
  if (report.is_better) TRY_VOID(versions.activate(domain, state.challenger));
  return report;
}

}  // namespace metafuse::service
