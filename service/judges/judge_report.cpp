#include "service/judges/judge_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/random.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/training/registry.h"
#include "service/learning/model_comparison.h"
#include "service/learning/store_training.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kBootstrapTrials = 1000;
constexpr double kTail = 0.025;
constexpr std::size_t kFoldsOfReport = 5;
constexpr std::string_view kRrfName = "rrf";

/// A query that both people and the model judged, with the lists that orders are measured on.
struct CommonQuery {
  std::string query;
  StoredSearch search;
  std::map<std::string, int> people;  ///< of the documents that both graded
  std::map<std::string, int> model;
};

using PairsOfQuery = std::vector<std::pair<int, int>>;

/// The pairs of grades on people's scale, by query.
std::vector<PairsOfQuery> pairs_by_query(const std::vector<GradePair>& pairs, int best) {
  std::map<std::size_t, PairsOfQuery> by_query;
  for (const GradePair& pair : pairs)
    by_query[pair.query].emplace_back(pair.people, on_scale(pair.model, best));
  std::vector<PairsOfQuery> out;
  for (auto& [query, grades] : by_query) out.push_back(std::move(grades));
  return out;
}

/// Sets the interval of the weighted kappa, drawing whole queries, because the grades of one query's
/// documents are not independent; and how many further queries would make it kWantedWidth wide, since the
/// width falls with the square root of their number.
void set_interval(const std::vector<PairsOfQuery>& queries, std::uint64_t seed, JudgeReport& report) {
  if (queries.size() < kFewestForInterval) return;
  Random random(seed);
  std::vector<double> values;
  for (std::size_t trial = 0; trial < kBootstrapTrials; ++trial) {
    PairsOfQuery drawn;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const PairsOfQuery& one = queries[static_cast<std::size_t>(random.below(queries.size()))];
      drawn.insert(drawn.end(), one.begin(), one.end());
    }
    values.push_back(evaluation::judge_agreement(drawn).weighted_kappa);
  }
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(kTail * kBootstrapTrials);
  report.interval = {values[at], values[values.size() - 1 - at]};
  const double ratio = (report.interval->second - report.interval->first) / kWantedWidth;
  const auto count = static_cast<double>(queries.size());
  report.wanted = static_cast<std::size_t>(std::ceil(std::max(0.0, count * (ratio * ratio - 1))));
}

/// The grades as gains of a model's order: its own scale is as good as any other.
double value_of(const std::vector<std::string_view>& order, const std::map<std::string, int>& grades) {
  return judged_ndcg(order, grades).value_or(0.0);
}

/// The orders of one query: each list alone, and RRF of all.
std::map<std::string, std::vector<std::string_view>> orders_of(const CommonQuery& query) {
  const StoredSearch& search = query.search;
  std::map<std::string, std::vector<std::string_view>> orders;
  for (const StoredList& list : search.lists) {
    auto& order = orders[list.feature];
    for (const std::uint32_t document : list.documents) order.emplace_back(search.documents[document]);
  }
  orders[std::string(kRrfName)] = stored_ranking(search, {});
  for (auto& [name, order] : orders) order = without_set_aside(std::move(order), search, query.people);
  return orders;
}

void compare_methods(const std::vector<CommonQuery>& queries, JudgeReport& report) {
  std::map<std::string, MethodByJudges> methods;
  for (const CommonQuery& query : queries)
    for (const auto& [name, order] : orders_of(query)) {
      MethodByJudges& method = methods[name];
      method.name = name;
      method.by_people += value_of(order, query.people) / static_cast<double>(queries.size());
      method.by_model += value_of(order, query.model) / static_cast<double>(queries.size());
    }
  for (auto& [name, method] : methods) report.methods.push_back(std::move(method));
  const auto names_by = [&](double MethodByJudges::*value) {
    std::ranges::stable_sort(report.methods, std::greater<>(), value);
    std::vector<std::string> names;
    for (const MethodByJudges& method : report.methods) names.push_back(method.name);
    return names;
  };
  const auto by_model = names_by(&MethodByJudges::by_model);
  const auto by_people = names_by(&MethodByJudges::by_people);
  const std::vector<std::string_view> a(by_people.begin(), by_people.end());
  const std::vector<std::string_view> b(by_model.begin(), by_model.end());
  report.tau = evaluation::kendall_tau(a, b);
}

/// One judge's training set, with only the common queries; `ids` are their base queries.
Result<fusion::TrainingSet> set_of(Store& store, const JudgeReportOptions& options, JudgeChoice judges,
                                   const std::set<std::string>& ids) {
  StoreTrainingOptions training;
  training.domain = options.domain;
  training.features = options.features;
  training.are_held_out_used = true;
  training.most_clicked_searches = 0;
  training.judges = std::move(judges);
  TRY(const auto set, training_set_from_store(store, training));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < set.queries.size(); ++i)
    if (ids.contains(set.queries[i].id)) kept.push_back(i);
  return fusion::select_queries(set, kept);
}

/// A model trained on the queries outside of a fold; nothing if they have no pair to learn from.
Result<std::optional<fusion::Model>> trained_without(const fusion::TrainingSet& set,
                                                     const std::set<std::string>& fold,
                                                     const JudgeReportOptions& options) {
  TRY(const fusion::Learner* const learner, fusion::learner_named(fusion::kDefaultLearner));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < set.queries.size(); ++i)
    if (!fold.contains(set.queries[i].id)) kept.push_back(i);
  const auto own = fusion::select_queries(set, kept);
  fusion::TrainingRequest request;
  request.train = &own;
  request.seed = options.seed;
  request.threads = options.threads;
  request.trace.is_wanted = false;
  auto trained = learner->train(request);
  if (trained) return std::optional<fusion::Model>(std::move(trained->model));
  if (trained.error().code == Code::bad_data) return std::optional<fusion::Model>();
  return trained.error();
}

std::string row_of(const std::string& query) {
  return std::string(fusion::kJudgedRow) + query;
}

/// Trains from the grades of both, and measures by people's on the queries of the fold left out.
Result<void> compare_learning(Store& store, const JudgeReportOptions& options,
                              const std::vector<CommonQuery>& queries, JudgeReport& report) {
  std::vector<std::string_view> ids;
  std::set<std::string> rows;
  for (const CommonQuery& query : queries) {
    ids.emplace_back(query.query);
    rows.insert(row_of(query.query));
  }
  const std::string model(std::string_view(report.judge).substr(kModelJudge.size()));
  TRY(const auto of_people, set_of(store, options, {}, rows));
  TRY(const auto of_model, set_of(store, options, {model, 1.0, true, false}, rows));
  TRY(const auto folds, evaluation::random_folds(ids, kFoldsOfReport, options.seed));
  LearnedFromJudges learned;
  learned.queries = queries.size();
  const auto share = 1.0 / static_cast<double>(queries.size());
  for (std::size_t fold = 0; fold < kFoldsOfReport; ++fold) {
    std::set<std::string> left_out;
    for (std::size_t i = 0; i < queries.size(); ++i)
      if (folds.fold_of[i] == fold) left_out.insert(row_of(queries[i].query));
    TRY(const auto by_people, trained_without(of_people, left_out, options));
    TRY(const auto by_model, trained_without(of_model, left_out, options));
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (folds.fold_of[i] != fold) continue;
      const CommonQuery& query = queries[i];
      const auto value = [&](const fusion::Model* by) {
        const auto order = without_set_aside(stored_ranking(query.search, {by}), query.search, query.people);
        return share * value_of(order, query.people);
      };
      learned.untrained += value(nullptr);
      learned.from_people += value(by_people ? &*by_people : nullptr);
      learned.from_model += value(by_model ? &*by_model : nullptr);
    }
    if (options.progress) options.progress(fold + 1, kFoldsOfReport);
  }
  report.learned = learned;
  return {};
}

/// The queries that both judged and whose lists are known, the first ones up to the limit.
Result<std::vector<CommonQuery>> common_queries(Store& store, const JudgeReportOptions& options,
                                                const std::vector<JudgedQuery>& people,
                                                const std::vector<JudgedQuery>& model) {
  std::vector<CommonQuery> out;
  for (const JudgedQuery& query : people) {
    const std::size_t other = position_of(model, query.query);
    if (other == model.size() || out.size() >= options.most_queries) continue;
    TRY(auto search, store.searches.find(query.search));
    if (!search || search->lists.empty()) {
      TRY(search, store.searches.find(model[other].search));
    }
    if (!search || search->lists.empty()) continue;
    CommonQuery common{query.query, std::move(*search), grades_of(query), grades_of(model[other])};
    std::erase_if(common.people, [&](const auto& item) { return !common.model.contains(item.first); });
    std::erase_if(common.model, [&](const auto& item) { return !common.people.contains(item.first); });
    if (!common.people.empty()) out.push_back(std::move(common));
  }
  return out;
}

Result<JudgeReport> report_of(Store& store, const JudgeReportOptions& options,
                              const std::vector<JudgedQuery>& all, const std::string& judge) {
  JudgeReport report;
  report.judge = judge;
  const auto people = of_people(all);
  const auto model = of_judge(all, judge);
  const auto pairs = common_grades(people, model);
  report.reading = read_grades(pairs);
  const auto by_query = pairs_by_query(pairs, report.reading.best);
  report.queries = by_query.size();
  PairsOfQuery together;
  for (const PairsOfQuery& one : by_query) together.insert(together.end(), one.begin(), one.end());
  report.agreement = evaluation::judge_agreement(together);
  if (options.has_interval) set_interval(by_query, options.seed, report);
  TRY(const auto queries, common_queries(store, options, people, model));
  if (queries.empty()) return report;
  compare_methods(queries, report);
  if (options.is_learned && queries.size() >= kFewestToLearn)
    TRY_VOID(compare_learning(store, options, queries, report));
  return report;
}

}  // namespace

Result<std::vector<JudgeReport>> judge_reports(Store& store, const JudgeReportOptions& options) {
  TRY(const auto all, store.judgments.queries(options.domain));
  std::vector<JudgeReport> reports;
  for (const std::string& judge : model_judges(all)) {
    TRY(auto report, report_of(store, options, all, judge));
    reports.push_back(std::move(report));
  }
  return reports;
}

namespace {

/// How many more judgments of people would be worth it.
std::string wanted_text(const JudgeReport& report) {
  if (!report.interval)
    return fmt::format(
        "  people must judge documents of {} more queries before anything can be said of others\n",
        kFewestForInterval - std::min(kFewestForInterval, report.queries));
  if (report.wanted == 0)
    return fmt::format(
        "  the interval of the weighted kappa is narrower than {:g}: more judgments of people "
        "would change little\n",
        kWantedWidth);
  return fmt::format(
      "  documents of about {} further queries judged by people would narrow the interval of the "
      "weighted kappa to {:g}\n",
      report.wanted, kWantedWidth);
}

std::string calibration_text(const JudgeReport& report) {
  std::string out = "  people's grades (columns) for each grade of the model, and what it is read as:\n    ";
  for (int grade = 0; grade <= report.reading.best; ++grade) out += fmt::format("{:>8}", grade);
  out += "    read as\n";
  for (std::size_t g = 0; g < GradeReading::kGrades; ++g) {
    out += fmt::format("  {:>2}", g);
    for (const std::size_t count : report.reading.counts[g]) out += fmt::format("{:>8}", count);
    out += fmt::format("{:>11.2f}\n", report.reading.expected[g]);
  }
  if (!report.reading.is_informative())
    out += "  its grades say nothing about people's: do not train from them\n";
  return out + wanted_text(report);
}

}  // namespace

std::string report_text(const JudgeReport& report, bool with_calibration) {
  const evaluation::JudgeAgreement& agreement = report.agreement;
  std::string out = report.judge + "\n";
  if (agreement.documents == 0)
    return out +
           "  people and the model have graded no common document; judge some of its results on /judge\n";
  out += fmt::format(
      "  {} documents of {} queries judged by people too: {:.0f} % equal, kappa {:.2f}, weighted kappa "
      "{:.2f}",
      agreement.documents, report.queries, 100 * agreement.share_equal, agreement.kappa,
      agreement.weighted_kappa);
  out += report.interval ? fmt::format(" [{:.2f}, {:.2f}]\n", report.interval->first, report.interval->second)
                         : fmt::format(" (no interval from fewer than {} queries)\n", kFewestForInterval);
  if (!report.methods.empty()) {
    out +=
        fmt::format("  Kendall's tau of {} methods by NDCG@10: {:.2f}\n", report.methods.size(), report.tau);
    for (const MethodByJudges& method : report.methods)
      out += fmt::format("    {:<32} {:.4f} by people  {:.4f} by the model\n", method.name, method.by_people,
                         method.by_model);
  }
  if (report.learned)
    out += fmt::format(
        "  learned from, and measured by people's grades on {} queries left out (NDCG@10): people {:.4f}, "
        "the "
        "model {:.4f}, untrained {:.4f}\n",
        report.learned->queries, report.learned->from_people, report.learned->from_model,
        report.learned->untrained);
  return with_calibration ? out + calibration_text(report) : out;
}

JsonObject report_json(const JudgeReport& report) {
  JsonArray methods, matrix, read_as;
  for (const MethodByJudges& method : report.methods)
    methods.push_back(
        JsonObject{{"name", method.name}, {"by_people", method.by_people}, {"by_model", method.by_model}});
  for (std::size_t g = 0; g < GradeReading::kGrades; ++g) {
    matrix.push_back(JsonArray(report.reading.counts[g].begin(), report.reading.counts[g].end()));
    read_as.push_back(report.reading.expected[g]);
  }
  Json interval;
  if (report.interval) interval = JsonArray{report.interval->first, report.interval->second};
  JsonObject out{{"judge", report.judge},
                 {"queries", report.queries},
                 {"documents", report.agreement.documents},
                 {"share_equal", report.agreement.share_equal},
                 {"kappa", report.agreement.kappa},
                 {"weighted_kappa", report.agreement.weighted_kappa},
                 {"interval", std::move(interval)},
                 {"wanted_queries", report.interval ? Json(report.wanted) : Json()},
                 {"tau", report.tau},
                 {"methods", std::move(methods)},
                 {"confusion", std::move(matrix)},
                 {"read_as", std::move(read_as)}};
  if (report.learned)
    out["learned"] = JsonObject{{"queries", report.learned->queries},
                                {"untrained", report.learned->untrained},
                                {"from_people", report.learned->from_people},
                                {"from_model", report.learned->from_model}};
  return out;
}

}  // namespace metafuse::service
