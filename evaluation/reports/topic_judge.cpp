#include "evaluation/reports/topic_judge.h"

#include <algorithm>

namespace metafuse::evaluation {
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

}  // namespace metafuse::evaluation
