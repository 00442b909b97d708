#include "service/learning/judge_grades.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "fusion/model/relevance_curve.h"

namespace metafuse::service {
namespace {

/// Each of the two parts of the Dirichlet prior of a row.
constexpr double kPriorWeight = 1.0;

/// The queries with the wanted judgments. If some are left out, the last search of the others counts.
std::vector<JudgedQuery> with_judgments(std::vector<JudgedQuery> queries,
                                        const std::function<bool(const StoredJudgment&)>& is_wanted) {
  for (JudgedQuery& query : queries) {
    const std::size_t before = query.judgments.size();
    std::erase_if(query.judgments, std::not_fn(is_wanted));
    if (query.judgments.empty() || query.judgments.size() == before) continue;
    const auto last = std::max_element(query.judgments.begin(), query.judgments.end(),
                                       [](const auto& a, const auto& b) { return a.at < b.at; });
    query.search = last->search;
  }
  std::erase_if(queries, [](const JudgedQuery& query) { return query.judgments.empty(); });
  return queries;
}

}  // namespace

std::string model_judge(std::string_view model) {
  return std::string(kModelJudge) + std::string(model);
}

bool is_model_judge(std::string_view judge) {
  return judge.starts_with(kModelJudge);
}

std::string_view model_name(std::string_view name) {
  return name.substr(is_model_judge(name) ? kModelJudge.size() : 0);
}

std::vector<JudgedQuery> of_people(std::vector<JudgedQuery> queries) {
  return with_judgments(std::move(queries),
                        [](const StoredJudgment& judgment) { return !is_model_judge(judgment.judge); });
}

std::vector<JudgedQuery> of_judge(std::vector<JudgedQuery> queries, std::string_view judge) {
  return with_judgments(std::move(queries),
                        [&](const StoredJudgment& judgment) { return judgment.judge == judge; });
}

Result<std::vector<JudgedQuery>> judged_by_people(Store& store, std::string_view domain) {
  TRY(auto queries, store.judgments.queries(domain));
  return of_people(std::move(queries));
}

std::vector<std::string> model_judges(const std::vector<JudgedQuery>& queries) {
  std::set<std::string> names;
  for (const JudgedQuery& query : queries)
    for (const StoredJudgment& judgment : query.judgments)
      if (is_model_judge(judgment.judge)) names.insert(judgment.judge);
  return {names.begin(), names.end()};
}

std::map<std::string, int> grades_of(const JudgedQuery& query) {
  std::map<std::string, std::vector<int>> given;
  for (const StoredJudgment& judgment : query.judgments) given[judgment.document].push_back(judgment.grade);
  std::map<std::string, int> grades;
  for (auto& [document, values] : given) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    grades[document] = *middle;
  }
  return grades;
}

std::size_t position_of(const std::vector<JudgedQuery>& queries, std::string_view query) {
  const auto at =
      std::lower_bound(queries.begin(), queries.end(), query,
                       [](const JudgedQuery& one, std::string_view id) { return one.query < id; });
  return at != queries.end() && at->query == query ? static_cast<std::size_t>(at - queries.begin())
                                                   : queries.size();
}

std::vector<GradePair> common_grades(const std::vector<JudgedQuery>& people,
                                     const std::vector<JudgedQuery>& model) {
  std::vector<GradePair> pairs;
  for (std::size_t i = 0; i < people.size(); ++i) {
    const std::size_t other = position_of(model, people[i].query);
    if (other == model.size()) continue;
    const auto theirs = grades_of(people[i]);
    for (const auto& [document, grade] : grades_of(model[other]))
      if (const auto known = theirs.find(document); known != theirs.end())
        pairs.push_back({i, std::max(0, known->second), std::clamp(grade, 0, kBestModelGrade)});
  }
  return pairs;
}

int on_scale(int model_grade, int best) {
  return static_cast<int>(std::lround(static_cast<double>(model_grade) * best / kBestModelGrade));
}

GradeReading read_grades(std::span<const GradePair> pairs) {
  GradeReading reading;
  if (!pairs.empty()) reading.best = 1;
  for (const GradePair& pair : pairs) reading.best = std::max(reading.best, pair.people);
  const auto grades = static_cast<std::size_t>(reading.best) + 1;
  for (auto& row : reading.counts) row.assign(grades, 0);
  for (const GradePair& pair : pairs)
    ++reading.counts[static_cast<std::size_t>(pair.model)][static_cast<std::size_t>(pair.people)];
  std::array<double, GradeReading::kGrades> weights{};
  for (std::size_t g = 0; g < GradeReading::kGrades; ++g) {
    double sum = kPriorWeight * (on_scale(static_cast<int>(g), reading.best) + reading.best / 2.0);
    weights[g] = 2 * kPriorWeight;
    for (std::size_t h = 0; h < grades; ++h) {
      const auto count = static_cast<double>(reading.counts[g][h]);
      sum += count * static_cast<double>(h);
      weights[g] += count;
    }
    reading.expected[g] = sum / weights[g];
  }
  std::ranges::copy(fusion::pool_adjacent_violators(reading.expected, weights), reading.expected.begin());
  const double low = reading.expected.front();
  const double span = reading.is_informative() ? reading.expected.back() - low : 1.0;
  for (std::size_t g = 0; g < GradeReading::kGrades; ++g)
    reading.learned[g] = reading.best * (reading.expected[g] - low) / span;
  return reading;
}

}  // namespace metafuse::service
