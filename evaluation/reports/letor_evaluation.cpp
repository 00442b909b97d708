#include "evaluation/reports/letor_evaluation.h"

#include <cmath>
#include <map>

#include "core/diagnostics.h"
#include "core/text_file.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/letor_file.h"
#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {
namespace {

Result<double> parse_score(const std::string& path, std::string_view line, std::size_t number) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  double score = 0.0;
  if (!to_double(line, score) || !std::isfinite(score))
    return fail(Code::bad_data,
                located(path, {number, 0}, "the score " + shown(line) + " is no finite number"));
  return score;
}

struct LetorQuery {
  std::vector<double> grades;
  std::vector<double> scores;
};

Result<std::map<std::string, LetorQuery, std::less<>>> read_letor_queries(const std::string& letor_path,
                                                                          bool values_are_ranks,
                                                                          const std::string& scores_path) {
  std::vector<double> scores;
  auto read = for_each_line(scores_path, [&](std::string_view line, std::size_t number) -> Result<void> {
    TRY(auto score, parse_score(scores_path, line, number));
    scores.push_back(score);
    return {};
  });
  if (!read) return read.error();
  std::map<std::string, LetorQuery, std::less<>> queries;
  std::size_t row_count = 0;
  LetorQuery* query = nullptr;
  std::string current;
  LetorOptions letor_options;
  letor_options.values_are_ranks = values_are_ranks;
  read = for_each_letor_row(letor_path, letor_options, [&](const LetorRow& row) -> Result<void> {
    if (query == nullptr || row.query != current) {
      current = row.query;
      query = &queries[current];
    }
    if (row_count < scores.size()) {
      query->grades.push_back(row.grade);
      query->scores.push_back(scores[row_count]);
    }
    ++row_count;
    return {};
  });
  if (!read) return read.error();
  if (row_count != scores.size())
    return fail(Code::bad_data, scores_path + ": " + std::to_string(scores.size()) + " scores for the " +
                                    std::to_string(row_count) + " rows of " + letor_path);
  return queries;
}

}  // namespace

Result<RunEvaluation> evaluate_letor(const std::string& letor_path, bool values_are_ranks,
                                     const std::string& scores_path, const MeasureSet& set,
                                     const EvaluationOptions& options) {
  TRY(auto queries, read_letor_queries(letor_path, values_are_ranks, scores_path));
  RunEvaluation evaluation;
  evaluation.run = scores_path;
  for (const auto& [id, query] : queries) {
    auto order = order_by_score(query.scores);
    if (options.depth > 0 && order.size() > options.depth) order.resize(options.depth);
    const JudgedRanking ranking = judged_ranking(query.grades, order, query.scores);
    if (options.rules.mode == Mode::gdeval && ranking.relevant(1) == 0) continue;
    evaluation.queries.push_back(id);
    evaluation.documents.push_back(static_cast<double>(ranking.retrieved()));
    const std::vector<double> values = evaluate(set, ranking, options.rules);
    evaluation.values.insert(evaluation.values.end(), values.begin(), values.end());
    if (const auto length = relstring_length(set))
      evaluation.relstrings.push_back(relstring_of(ranking, *length));
  }
  summarise(evaluation, set, options);
  return evaluation;
}

}  // namespace metafuse::evaluation
