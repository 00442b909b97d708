#include "fusion/learners/common/validation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "evaluation/measures/measure.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/fused_order.h"

namespace metafuse::fusion {
namespace {

/// Everything about the set that stays the same from call to call.
struct Prepared {
  evaluation::MeasureSet measures;
  evaluation::Rules rules;
  struct Query {
    std::size_t begin = 0;
    // Rows, counted from begin, in the order that decides between equal scores.
    std::vector<std::uint32_t> ties;
    std::vector<double> grades;  // of the rows, then of documents that no list holds
  };
  std::vector<Query> queries;
};

int whole_level(const TrainingSet& set) {
  return static_cast<int>(std::ceil(set.feedback.relevance_level));
}

evaluation::Rules rules_of(const TrainingSet& set) {
  evaluation::Rules rules;
  rules.relevance_level = whole_level(set);
  rules.top_grade = 1;
  for (const QueryRange& query : set.queries)
    for (const double grade : judged_grades(set, query))
      rules.top_grade = std::max(rules.top_grade, evaluation::whole_grade(grade));
  return rules;
}

double average_over_queries(const Prepared& prepared, std::span<const double> scores) {
  std::vector<double> values;
  std::vector<double> documents;
  std::vector<std::uint32_t> order;
  for (const Prepared::Query& query : prepared.queries) {
    const auto own = scores.subspan(query.begin, query.ties.size());
    order = query.ties;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return own[a] > own[b]; });
    values.push_back(evaluation::evaluate(
        prepared.measures, evaluation::judged_ranking(query.grades, order, own), prepared.rules)[0]);
    documents.push_back(static_cast<double>(query.ties.size()));
  }
  return evaluation::average(prepared.measures.measure_of(0), values, 0, false, documents);
}

Result<ValidationMeasure> measure_by_rules(const TrainingSet& set, const std::string& name,
                                           const evaluation::Rules& rules) {
  TRY(auto measures, evaluation::parse_measures(name));
  if (measures.size() != 1)
    return fail(Code::usage, "--metric " + name + ": stands for " + std::to_string(measures.size()) +
                                 " measures; give one, such as map or ndcg_cut_10");
  auto prepared = std::make_shared<Prepared>();
  prepared->measures = std::move(measures);
  prepared->rules = rules;
  for (const QueryRange& range : set.queries) {
    if (!range.is_judged) continue;
    Prepared::Query query{range.begin, {}, {}};
    const std::vector<double> equal(range.end - range.begin, 0.0);
    for (const std::size_t row : fused_order(set.matrix, range.begin, range.end, equal, set.documents))
      query.ties.push_back(static_cast<std::uint32_t>(row - range.begin));
    query.grades = judged_grades(set, range);
    prepared->queries.push_back(std::move(query));
  }
  const bool is_cost = prepared->measures.measure_of(0).is_cost;
  const double sign = is_cost ? -1.0 : 1.0;
  return ValidationMeasure{[prepared, sign](std::span<const double> scores) {
                             return sign * average_over_queries(*prepared, scores);
                           },
                           is_cost, name};
}

}  // namespace

Result<ValidationMeasure> validation_measure(const TrainingSet& set, const std::string& name) {
  if (count_answerable(set) == 0)
    return fail(Code::bad_data, "no query of the validation input has a relevant document in any list");
  return measure_by_rules(set, name, rules_of(set));
}

Result<std::vector<HeldOutQuery>> measured_queries(const TrainingSet& set, const std::string& measure) {
  const evaluation::Rules rules = rules_of(set);
  std::vector<HeldOutQuery> out;
  for (std::size_t query = 0; query < set.queries.size(); ++query) {
    if (!set.queries[query].is_judged) continue;
    TrainingSet own = select_queries(set, std::span(&query, 1));
    TRY(auto value, measure_by_rules(own, measure, rules));
    out.push_back({query, std::move(own), std::move(value)});
  }
  return out;
}

bool is_relevant(const TrainingSet& set, double grade) {
  return evaluation::whole_grade(grade) >= whole_level(set);
}

std::vector<bool> are_answerable(const TrainingSet& set) {
  std::vector<bool> out;
  for (const QueryRange& query : set.queries) {
    const std::span grades(set.grades.data() + query.begin, query.end - query.begin);
    out.push_back(query.is_judged &&
                  std::ranges::any_of(grades, [&](double grade) { return is_relevant(set, grade); }));
  }
  return out;
}

std::size_t count_answerable(const TrainingSet& set) {
  return base_queries(set, are_answerable(set)).size();
}

Result<std::vector<std::size_t>> folds_to_measure(const TrainingSet& set, std::size_t folds,
                                                  std::uint64_t seed) {
  TRY(auto fold_of, folds_of_base_queries(set, are_answerable(set), folds, seed));
  std::size_t next = 0;
  for (std::size_t query = 0; query < fold_of.size(); ++query)
    if (fold_of[query] == folds && set.queries[query].is_judged) fold_of[query] = next++ % folds;
  return fold_of;
}

}  // namespace metafuse::fusion
