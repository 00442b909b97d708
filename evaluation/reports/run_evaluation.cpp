#include "evaluation/reports/run_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/diagnostics.h"
#include "core/parallel.h"
#include "core/text_file.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/letor_file.h"
#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {
namespace {

constexpr auto kNoList = static_cast<std::size_t>(-1);

/// A judged topic and its number in the run; kNoList if the run lacks it.
struct Shared {
  std::size_t topic = kNoList;
  const QueryJudgments* judgments = nullptr;
};

bool has_relevant(const QueryJudgments& query) {
  return std::any_of(query.documents.begin(), query.documents.end(),
                     [](const Judgment& judgment) { return judgment.grade > 0; });
}

/// The topics to evaluate, found by merging the two sorted lists, and the number of judged topics that the
/// run lacks. Under is_complete, those are evaluated as empty lists. `topic_at(i)` is the id of the run's
/// i-th topic.
struct Work {
  std::vector<Shared> topics;
  std::size_t missing = 0;
  bool shares_any = false;
};

template <class TopicAt>
Work plan_work(std::size_t count, TopicAt topic_at, const Judgments& judgments,
               const EvaluationOptions& options) {
  Work work;
  std::size_t topic = 0;
  for (const QueryJudgments& query : judgments.queries) {
    while (topic < count && topic_at(topic) < query.query) ++topic;
    if (options.rules.mode == Mode::gdeval && !has_relevant(query)) continue;
    const bool has_list = topic < count && topic_at(topic) == query.query;
    if (has_list || options.is_complete)
      work.topics.push_back({has_list ? topic : kNoList, &query});
    else
      ++work.missing;
    work.shares_any = work.shares_any || has_list;
  }
  return work;
}

/// Evaluates every shared topic. `lines_of(topic, lines)` fills in a topic's lines; `twice(topic, lines)`
/// makes the error for a document that occurs twice.
template <class LinesOf, class Twice>
Result<void> evaluate_topics(const std::vector<Shared>& shared, const MeasureSet& set,
                             const EvaluationOptions& options, LinesOf lines_of, Twice twice,
                             RunEvaluation& evaluation) {
  constexpr std::size_t kBlock = 128;
  const auto relstring = relstring_length(set);
  evaluation.values.assign(shared.size() * set.size(), 0.0);
  evaluation.queries.resize(shared.size());
  evaluation.documents.resize(shared.size());
  if (relstring) evaluation.relstrings.resize(shared.size());
  const std::size_t blocks = (shared.size() + kBlock - 1) / kBlock;
  std::vector<std::optional<Error>> errors(blocks);
  parallel_for(blocks, options.threads, [&](std::size_t block) {
    TopicJudge judge(options);
    std::vector<RunLine> lines;
    for (std::size_t i = block * kBlock; i < std::min(shared.size(), (block + 1) * kBlock); ++i) {
      evaluation.queries[i] = shared[i].judgments->query;
      lines.clear();
      if (shared[i].topic == kNoList) {
        // A judged query without a list is evaluated as an empty list.
      } else if (auto read = lines_of(shared[i].topic, lines); !read) {
        errors[block] = read.error();
        return;
      }
      const JudgedRanking* ranking = judge.judge(lines, *shared[i].judgments);
      if (ranking == nullptr) {
        errors[block] = twice(shared[i].topic, lines);
        return;
      }
      evaluate(set, *ranking, options.rules,
               std::span(evaluation.values).subspan(i * set.size(), set.size()));
      evaluation.documents[i] = static_cast<double>(ranking->retrieved());
      if (relstring) evaluation.relstrings[i] = relstring_of(*ranking, *relstring);
    }
  });
  for (const auto& error : errors)
    if (error) return *error;
  return {};
}

/// Checks the run's unjudged topics. They do not enter the evaluation, but a malformed line among them means
/// that the file is damaged or the wrong one.
Result<void> check_unjudged(const RunIndex& run, const std::vector<Shared>& judged,
                            const EvaluationOptions& options) {
  std::vector<bool> is_judged(run.topics.topic_count(), false);
  for (const Shared& shared : judged)
    if (shared.topic != kNoList) is_judged[shared.topic] = true;
  std::vector<std::size_t> unjudged;
  for (std::size_t topic = 0; topic < is_judged.size(); ++topic)
    if (!is_judged[topic]) unjudged.push_back(topic);
  std::vector<std::optional<Error>> errors(unjudged.size());
  parallel_for(unjudged.size(), options.threads, [&](std::size_t i) {
    std::vector<RunLine> lines;
    if (auto parsed = parse_run_topic(run, unjudged[i], options.file, lines); !parsed)
      errors[i] = parsed.error();
  });
  for (const auto& error : errors)
    if (error) return *error;
  return {};
}

Error shares_nothing(const std::string& path) {
  return fail(Code::bad_data, path + ": shares no query with the judgments; are they of one collection?");
}

}  // namespace

std::vector<double> RunEvaluation::column(std::size_t column) const {
  std::vector<double> out(queries.size());
  for (std::size_t query = 0; query < queries.size(); ++query) out[query] = value(query, column);
  return out;
}

void summarise(RunEvaluation& evaluation, const MeasureSet& set, const EvaluationOptions& options) {
  evaluation.summary.assign(set.size(), 0.0);
  for (std::size_t column = 0; column < set.size(); ++column)
    evaluation.summary[column] = average(set.measure_of(column), evaluation.column(column),
                                         evaluation.missing, options.is_complete, evaluation.documents);
}

Result<RunEvaluation> evaluate_run(const RunIndex& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options) {
  const Work work = plan_work(
      run.topics.topic_count(), [&](std::size_t i) { return run.topics.topic(i); }, judgments, options);
  TRY_VOID(check_unjudged(run, work.topics, options));
  if (!work.shares_any) return shares_nothing(run.topics.file.path);
  RunEvaluation evaluation;
  evaluation.run = run.name;
  evaluation.missing = work.missing;
  auto evaluated = evaluate_topics(
      work.topics, set, options,
      [&](std::size_t topic, std::vector<RunLine>& lines) {
        return parse_run_topic(run, topic, options.file, lines);
      },
      [&](std::size_t topic, std::vector<RunLine>& lines) {
        // Parse again in file order, so that the error names the first of the two lines.
        TRY_VOID(parse_run_topic(run, topic, options.file, lines));
        return check_documents_differ(run, topic, lines).error();
      },
      evaluation);
  if (!evaluated) return evaluated.error();
  summarise(evaluation, set, options);
  return evaluation;
}

Result<RunEvaluation> evaluate_run(const Run& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options) {
  const Work work = plan_work(
      run.topics.size(), [&](std::size_t i) { return run.topics[i].topic; }, judgments, options);
  if (!work.shares_any) return shares_nothing(run.name);
  RunEvaluation evaluation;
  evaluation.run = run.name;
  evaluation.missing = work.missing;
  TRY_VOID(evaluate_topics(
      work.topics, set, options,
      [&](std::size_t topic, std::vector<RunLine>& lines) -> Result<void> {
        for (const RunEntry& entry : run.topics[topic].entries)
          lines.push_back({entry.document, entry.score, static_cast<std::int64_t>(lines.size() + 1)});
        return {};
      },
      [&](std::size_t topic, const std::vector<RunLine>&) {
        return fail(Code::bad_data, run.name + ": a document occurs twice in the query " +
                                        std::string(run.topics[topic].topic));
      },
      evaluation));
  summarise(evaluation, set, options);
  return evaluation;
}

Result<RunEvaluation> evaluate_run_by_groups(const RunIndex& run, std::span<const Judgments> groups,
                                             const MeasureSet& set, const EvaluationOptions& options) {
  std::map<std::string, std::pair<std::vector<double>, double>> sums;
  for (const Judgments& group : groups) {
    TRY(auto evaluation, evaluate_run(run, group, set, options));
    for (std::size_t query = 0; query < evaluation.queries.size(); ++query) {
      auto& [values, judges] = sums[evaluation.queries[query]];
      values.resize(set.size());
      for (std::size_t column = 0; column < set.size(); ++column)
        values[column] += evaluation.value(query, column);
      judges += 1.0;
    }
  }
  RunEvaluation mean;
  mean.run = run.name;
  for (const auto& [query, sum] : sums) {
    mean.queries.push_back(query);
    for (const double value : sum.first) mean.values.push_back(value / sum.second);
  }
  summarise(mean, set, options);
  return mean;
}

namespace {

bool keeps_file_order(Mode mode) {
  return mode == Mode::letor3 || mode == Mode::letor4 || mode == Mode::mslr;
}

int grade_in_list(int grade) {
  return grade < 0 ? kUnjudged : grade;
}

void count_grades(const QueryJudgments& judgments, std::vector<GradeCount>& counts) {
  counts.clear();
  for (const Judgment& judgment : judgments.documents) {
    if (judgment.grade < 0) continue;
    const auto at = std::lower_bound(counts.begin(), counts.end(), judgment.grade,
                                     [](const GradeCount& c, int grade) { return c.grade < grade; });
    if (at != counts.end() && at->grade == judgment.grade)
      ++at->count;
    else
      counts.insert(at, {judgment.grade, 1});
  }
}

}  // namespace

void sort_by_rule(std::vector<RunLine>& lines, Mode mode) {
  if (mode == Mode::trec9)
    for (RunLine& line : lines) line.score = static_cast<double>(static_cast<float>(line.score));
  const auto by_score = [](const RunLine& a, const RunLine& b) { return a.score > b.score; };
  if (!std::is_sorted(lines.begin(), lines.end(), by_score))
    std::stable_sort(lines.begin(), lines.end(), by_score);
  if (keeps_file_order(mode)) return;
  for (auto begin = lines.begin(); begin != lines.end();) {
    auto end = begin + 1;
    while (end != lines.end() && end->score == begin->score) ++end;
    if (end - begin > 1)
      std::sort(begin, end, [](const RunLine& a, const RunLine& b) { return a.document > b.document; });
    begin = end;
  }
}

const JudgedRanking* TopicJudge::judge(std::vector<RunLine>& lines, const QueryJudgments& judgments) {
  table_.clear();
  bool is_new = false;
  for (const Judgment& judgment : judgments.documents) table_.insert(judgment.document, is_new);
  const std::size_t judged = table_.size();
  is_seen_.assign(judged, 0);
  sort_by_rule(lines, options_.rules.mode);
  ranking_.grades.clear();
  ranking_.scores.clear();
  for (const RunLine& line : lines) {
    const std::uint32_t number = table_.insert(line.document, is_new);
    const bool is_judged = number < judged;
    if (is_judged ? is_seen_[number] != 0 : !is_new) {
      twice_ = &line;
      return nullptr;
    }
    if (is_judged) is_seen_[number] = 1;
    const int grade = is_judged ? grade_in_list(judgments.documents[number].grade) : kNotPooled;
    if (options_.depth > 0 && static_cast<std::size_t>(&line - lines.data()) >= options_.depth) continue;
    if (options_.judged_only && grade < 0) continue;
    ranking_.grades.push_back(grade);
    ranking_.scores.push_back(line.score);
  }
  count_grades(judgments, ranking_.judged);
  return &ranking_;
}

namespace {

Result<double> parse_score(const std::string& path, std::string_view line, std::size_t number) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  double score = 0.0;
  if (!to_double(line, score) || !std::isfinite(score))
    return fail(Code::bad_data,
                located(path, {number, 0}, "the score " + shown(line) + " is not a finite number"));
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
