#include "evaluation/reports/run_evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "core/diagnostics.h"
#include "core/parallel.h"
#include "core/text_file.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/letor_file.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

constexpr auto kNoList = static_cast<std::size_t>(-1);

/// A judged topic and its number in the run; kNoList if the run lacks it.
struct Shared {
  std::size_t topic = kNoList;
  const QueryJudgments* judgments = nullptr;
};

/// A run as evaluation reads it.
struct Lists {
  std::string name;
  std::string path;  ///< for errors
  std::size_t count = 0;
  std::function<std::string_view(std::size_t list)> topic_of;  ///< ascending byte order
  /// Fills in the lines of a list, which are empty before.
  std::function<Result<void>(std::size_t list, std::vector<RunLine>& lines)> read;
  std::function<Error(std::size_t list)> twice;  ///< the error for a document that occurs twice
};

/// The topics to evaluate, and the number of judged topics that the run lacks. Under is_complete, those are
/// evaluated as empty lists.
struct Work {
  std::vector<Shared> topics;
  std::size_t missing = 0;
  bool shares_any = false;
};

/// Merges the sorted topics of the run with those of the judgments.
Work plan_work(const Lists& lists, const Judgments& judgments, const EvaluationOptions& options) {
  Work work;
  std::size_t list = 0;
  for (const QueryJudgments& query : judgments.queries) {
    while (list < lists.count && lists.topic_of(list) < query.query) ++list;
    if (!is_evaluated(query, options.rules)) continue;
    const bool has_list = list < lists.count && lists.topic_of(list) == query.query;
    if (has_list || options.is_complete)
      work.topics.push_back({has_list ? list : kNoList, &query});
    else
      ++work.missing;
    work.shares_any = work.shares_any || has_list;
  }
  return work;
}

/// Sorts by trec_eval's rule (score descending, in single precision under trec9; then document id in
/// descending byte order) or by LETOR's (score descending; equal scores in file order).
void sort_by_rule(std::vector<RunLine>& lines, Mode mode) {
  if (mode == Mode::trec9)
    for (RunLine& line : lines) line.score = static_cast<double>(static_cast<float>(line.score));
  if (!std::ranges::is_sorted(lines, std::greater<>(), &RunLine::score))
    std::ranges::stable_sort(lines, std::greater<>(), &RunLine::score);
  if (mode == Mode::letor3 || mode == Mode::letor4 || mode == Mode::mslr) return;
  for (auto begin = lines.begin(); begin != lines.end();) {
    auto end = begin + 1;
    while (end != lines.end() && end->score == begin->score) ++end;
    if (end - begin > 1) std::ranges::sort(begin, end, std::greater<>(), &RunLine::document);
    begin = end;
  }
}

/// Turns a topic's list into a JudgedRanking; its hash tables are reused from topic to topic.
class TopicJudge {
 public:
  explicit TopicJudge(const EvaluationOptions& options) : options_(options) {}

  /// Orders the lines by the mode's rule and looks up their grades.
  ///
  /// out:    valid until the next call; nullptr when a document occurs twice
  const JudgedRanking* judge(std::vector<RunLine>& lines, const QueryJudgments& judgments) {
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
      if (is_judged ? is_seen_[number] != 0 : !is_new) return nullptr;
      if (is_judged) is_seen_[number] = 1;
      int grade = is_judged ? judgments.documents[number].grade : kNotPooled;
      if (is_judged && grade < 0) grade = kUnjudged;
      if (options_.depth > 0 && static_cast<std::size_t>(&line - lines.data()) >= options_.depth) continue;
      if (options_.judged_only && grade < 0) continue;
      ranking_.grades.push_back(grade);
      ranking_.scores.push_back(line.score);
    }
    ranking_.judged = grade_counts(judgments);
    return &ranking_;
  }

 private:
  const EvaluationOptions& options_;
  IdTable table_;
  std::vector<char> is_seen_;
  JudgedRanking ranking_;
};

Result<RunEvaluation> evaluate_lists(const Lists& lists, const Work& work, const MeasureSet& set,
                                     const EvaluationOptions& options) {
  if (!work.shares_any)
    return fail(Code::bad_data,
                lists.path + ": shares no query with the judgments; are they of one collection?");
  constexpr std::size_t kBlock = 128;
  const std::size_t count = work.topics.size();
  const auto relstring = relstring_length(set);
  RunEvaluation out;
  out.run = lists.name;
  out.missing = work.missing;
  out.values.assign(count * set.size(), 0.0);
  out.queries.resize(count);
  out.documents.resize(count);
  if (relstring) out.relstrings.resize(count);
  const auto evaluate_block = [&](std::size_t block) -> Result<void> {
    TopicJudge judge(options);
    std::vector<RunLine> lines;
    for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const Shared& shared = work.topics[i];
      out.queries[i] = shared.judgments->query;
      lines.clear();
      if (shared.topic != kNoList) TRY_VOID(lists.read(shared.topic, lines));
      const JudgedRanking* ranking = judge.judge(lines, *shared.judgments);
      if (ranking == nullptr) return lists.twice(shared.topic);
      evaluate(set, *ranking, options.rules, std::span(out.values).subspan(i * set.size(), set.size()));
      out.documents[i] = static_cast<double>(ranking->retrieved());
      if (relstring) out.relstrings[i] = relstring_of(*ranking, *relstring);
    }
    return {};
  };
  TRY_VOID(try_parallel_for((count + kBlock - 1) / kBlock, options.threads, evaluate_block));
  summarise(out, set, options);
  return out;
}

/// Checks the run's unjudged topics. They do not enter the evaluation, but a malformed line among them means
/// that the file is damaged or the wrong one.
Result<void> check_unjudged(const Lists& lists, const Work& work, unsigned threads) {
  std::vector<bool> is_judged(lists.count, false);
  for (const Shared& shared : work.topics)
    if (shared.topic != kNoList) is_judged[shared.topic] = true;
  return try_parallel_for(lists.count, threads, [&](std::size_t list) -> Result<void> {
    std::vector<RunLine> lines;
    return is_judged[list] ? Result<void>() : lists.read(list, lines);
  });
}

bool shares_topic(const RunIndex& run, const Judgments& judgments) {
  std::size_t topic = 0;
  return std::ranges::any_of(judgments.queries, [&](const QueryJudgments& query) {
    while (topic < run.topics.topic_count() && run.topics.topic(topic) < query.query) ++topic;
    return topic < run.topics.topic_count() && run.topics.topic(topic) == query.query;
  });
}

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
  read = for_each_letor_row(letor_path, values_are_ranks, [&](const LetorRow& row) -> Result<void> {
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

std::vector<double> RunEvaluation::column(std::size_t column) const {
  std::vector<double> out(queries.size());
  for (std::size_t query = 0; query < queries.size(); ++query) out[query] = value(query, column);
  return out;
}

int highest_grade(const Judgments& judgments) {
  int highest = 1;
  for (const QueryJudgments& query : judgments.queries)
    for (const Judgment& judgment : query.documents) highest = std::max(highest, judgment.grade);
  return highest;
}

bool is_evaluated(const QueryJudgments& query, const Rules& rules) {
  const auto is_relevant = [](const Judgment& judgment) { return judgment.grade > 0; };
  return rules.mode != Mode::gdeval || std::ranges::any_of(query.documents, is_relevant);
}

void summarise(RunEvaluation& evaluation, const MeasureSet& set, const EvaluationOptions& options) {
  evaluation.summary.assign(set.size(), 0.0);
  for (std::size_t column = 0; column < set.size(); ++column)
    evaluation.summary[column] = average(set.measure_of(column), evaluation.column(column),
                                         evaluation.missing, options.is_complete, evaluation.documents);
}

Result<RunEvaluation> evaluate_run(const RunIndex& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options) {
  Lists lists{run.name, run.topics.file.path, run.topics.topic_count(), {}, {}, {}};
  lists.topic_of = [&](std::size_t list) { return run.topics.topic(list); };
  lists.read = [&](std::size_t list, std::vector<RunLine>& lines) {
    return parse_run_topic(run, list, options.file, lines);
  };
  lists.twice = [&](std::size_t list) -> Error {
    // Parse again in file order, so that the error names the first of the two lines.
    std::vector<RunLine> lines;
    TRY_VOID(parse_run_topic(run, list, options.file, lines));
    return check_documents_differ(run, list, lines).error();
  };
  const Work work = plan_work(lists, judgments, options);
  TRY_VOID(check_unjudged(lists, work, options.threads));
  return evaluate_lists(lists, work, set, options);
}

Result<RunEvaluation> evaluate_run(const Run& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options) {
  Lists lists{run.name, run.name, run.topics.size(), {}, {}, {}};
  lists.topic_of = [&](std::size_t list) { return run.topics[list].topic; };
  lists.read = [&](std::size_t list, std::vector<RunLine>& lines) -> Result<void> {
    for (const RunEntry& entry : run.topics[list].entries)
      lines.push_back({entry.document, entry.score, static_cast<std::int64_t>(lines.size() + 1)});
    return {};
  };
  lists.twice = [&](std::size_t list) {
    return fail(Code::bad_data,
                run.name + ": a document occurs twice in the query " + std::string(run.topics[list].topic));
  };
  return evaluate_lists(lists, plan_work(lists, judgments, options), set, options);
}

Result<RunEvaluation> evaluate_run_by_groups(const RunIndex& run, std::span<const Judgments> groups,
                                             const MeasureSet& set, const EvaluationOptions& options) {
  std::map<std::string, std::pair<std::vector<double>, double>> sums;
  std::set<std::string_view> judged;
  for (const Judgments& group : groups) {
    for (const QueryJudgments& query : group.queries)
      if (is_evaluated(query, options.rules)) judged.insert(query.query);
    const bool is_last_hope =
        &group == &groups.back() && sums.empty();  // then evaluate_run says what is wrong
    if (!is_last_hope && !shares_topic(run, group)) continue;
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
  mean.missing = judged.size() - sums.size();
  for (const auto& [query, sum] : sums) {
    mean.queries.push_back(query);
    for (const double value : sum.first) mean.values.push_back(value / sum.second);
  }
  summarise(mean, set, options);
  return mean;
}

Result<RunEvaluation> evaluate_letor(const std::string& letor_path, bool values_are_ranks,
                                     const std::string& scores_path, const MeasureSet& set,
                                     const EvaluationOptions& options) {
  TRY(auto queries, read_letor_queries(letor_path, values_are_ranks, scores_path));
  RunEvaluation evaluation;
  evaluation.run = scores_path;
  Rules rules = options.rules;
  rules.top_grade = 1;
  for (const auto& [id, query] : queries)
    for (const double grade : query.grades) rules.top_grade = std::max(rules.top_grade, whole_grade(grade));
  for (const auto& [id, query] : queries) {
    auto order = order_by_score(query.scores);
    if (options.depth > 0 && order.size() > options.depth) order.resize(options.depth);
    const JudgedRanking ranking = judged_ranking(query.grades, order, query.scores);
    if (rules.mode == Mode::gdeval && ranking.relevant(1) == 0) continue;
    evaluation.queries.push_back(id);
    evaluation.documents.push_back(static_cast<double>(ranking.retrieved()));
    const std::vector<double> values = evaluate(set, ranking, rules);
    evaluation.values.insert(evaluation.values.end(), values.begin(), values.end());
    if (const auto length = relstring_length(set))
      evaluation.relstrings.push_back(relstring_of(ranking, *length));
  }
  summarise(evaluation, set, options);
  return evaluation;
}

}  // namespace metafuse::evaluation
