#include "evaluation/measures/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>

#include "core/contract.h"
#include "core/number.h"
#include "core/portable_math.h"
#include "core/text.h"
#include "evaluation/measures/all.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {
namespace {

/// in: grade_of(i) - the grade of each of `documents` documents
template <class GradeOf>
std::vector<GradeCount> counted(std::size_t documents, GradeOf grade_of) {
  std::array<std::size_t, 64> low{};  // nearly all grades are in here
  std::vector<int> high;
  for (std::size_t i = 0; i < documents; ++i) {
    const int grade = grade_of(i);
    if (grade >= 0 && std::cmp_less(grade, low.size()))
      ++low[static_cast<std::size_t>(grade)];
    else if (grade >= 0)
      high.push_back(grade);
  }
  std::vector<GradeCount> counts;
  for (std::size_t grade = 0; grade < low.size(); ++grade)
    if (low[grade] > 0) counts.push_back({static_cast<int>(grade), low[grade]});
  std::ranges::sort(high);
  for (const int grade : high) {
    if (counts.empty() || counts.back().grade != grade) counts.push_back({grade, 0});
    ++counts.back().count;
  }
  return counts;
}

}  // namespace

std::vector<GradeCount> grade_counts(const QueryJudgments& judgments) {
  return counted(judgments.documents.size(), [&](std::size_t i) { return judgments.documents[i].grade; });
}

std::size_t JudgedRanking::relevant(int level) const {
  std::size_t sum = 0;
  for (const GradeCount& item : judged)
    if (item.grade >= level) sum += item.count;
  return sum;
}

std::size_t JudgedRanking::relevant_retrieved(int level) const {
  return static_cast<std::size_t>(
      std::count_if(grades.begin(), grades.end(), [level](int grade) { return grade >= level; }));
}

int whole_grade(double grade) {
  constexpr double kMost = 1e9;
  return static_cast<int>(std::lround(std::clamp(grade, 0.0, kMost)));
}

JudgedRanking judged_ranking(std::span<const double> grades, std::span<const std::uint32_t> order,
                             std::span<const double> scores) {
  require(order.size() <= grades.size(), "an order names documents that have no grade");
  JudgedRanking ranking;
  ranking.grades.reserve(order.size());
  for (const std::uint32_t document : order) {
    ranking.grades.push_back(whole_grade(grades[document]));
    if (!scores.empty()) ranking.scores.push_back(scores[document]);
  }
  ranking.judged = counted(grades.size(), [&](std::size_t i) { return whole_grade(grades[i]); });
  return ranking;
}

std::vector<std::uint32_t> order_by_score(std::span<const double> scores) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t at) { return scores[at]; });
  return order;
}

std::string relstring_of(const JudgedRanking& ranking, double length) {
  std::string text = "'";
  const auto end = std::min(static_cast<std::size_t>(std::max(0.0, length)), ranking.grades.size());
  for (std::size_t i = 0; i < end; ++i) {
    const int grade = ranking.grades[i];
    if (grade > 9)
      text += '>';
    else if (grade >= 0)
      text += static_cast<char>('0' + grade);
    else
      text += grade == kNotPooled ? '-' : '.';
  }
  return text + "'";
}

std::optional<double> relstring_length(const MeasureSet& set) {
  for (const MeasureRequest& request : set.requests)
    if (request.measure->is_text()) return request.parameters.values[0];
  return std::nullopt;
}

namespace {

constexpr std::pair<Mode, const char*> kModes[] = {{Mode::trec10, "trec10"}, {Mode::trec9, "trec9"},
                                                   {Mode::letor3, "letor3"}, {Mode::letor4, "letor4"},
                                                   {Mode::mslr, "mslr"},     {Mode::gdeval, "gdeval"}};

constexpr std::pair<const char*, const char*> kSets[] = {
    {"official",
     "runid,num_q,num_ret,num_rel,num_rel_ret,map,gm_map,Rprec,bpref,recip_rank,iprec_at_recall,P"},
    {"all_trec",
     "runid,num_q,num_ret,num_rel,num_rel_ret,map,gm_map,Rprec,bpref,recip_rank,iprec_at_recall,P,relstring,"
     "recall,infAP,"
     "gm_bpref,Rprec_mult,utility,11pt_avg,binG,G,ndcg,ndcg_rel,Rndcg,ndcg_cut,map_cut,relative_P,success,"
     "set_P,"
     "set_relative_P,set_recall,set_map,set_F,num_nonrel_judged_ret,rbp,rbp_resid,unj"},
    {"set", "runid,num_q,num_ret,num_rel,num_rel_ret,utility,set_P,set_relative_P,set_recall,set_map,set_F"},
    {"qrels_jg", "runid,num_q,map,P,Rprec_mult"},
    {"paper", "top,avg_rank,ranking_loss"},
    {"letor", "map_all,P_1,P_3,P_5,P_10,ndcg_cut_1,ndcg_cut_3,ndcg_cut_5,ndcg_cut_10,mean_ndcg"},
    {"graded", "ndcg_cut_20,err_20"},
};

/// One measure as typed: its name and the text of its parameters.
struct Typed {
  const Measure* measure = nullptr;
  std::string parameters;
  char separator = '\0';
};

/// The measure with the longest name that `word` begins with, where the name ends or '_' or '.' follows.
Typed typed_measure(std::string_view word) {
  Typed best;
  for (const Measure& measure : all_measures()) {
    const std::size_t size = measure.name.size();
    if (!word.starts_with(measure.name)) continue;
    if (word.size() > size && word[size] != '_' && word[size] != '.') continue;
    if (best.measure != nullptr && best.measure->name.size() >= size) continue;
    best = {&measure, word.size() > size ? std::string(word.substr(size + 1)) : "",
            word.size() > size ? word[size] : '\0'};
  }
  return best;
}

bool continues_parameters(std::string_view word) {
  return !word.empty() && (std::string_view("0123456789.-+").find(word[0]) != std::string_view::npos ||
                           word.find('=') != std::string_view::npos);
}

Error unknown(std::string_view word) {
  std::vector<std::string> names;
  for (const Measure& measure : all_measures()) names.push_back(measure.name);
  const std::string meant = near_names(word, names).empty() ? "" : did_you_mean(word, names);
  return fail(Code::usage, "no measure " + shown(word) + meant + "; see metafuse evaluate --list-measures");
}

Result<std::vector<Typed>> parse_words(std::string_view text, MeasureSet& set) {
  std::vector<Typed> typed;
  while (!text.empty()) {
    const std::string_view word = take_until(text, ',');
    if (word.empty()) continue;
    if (const auto* const group = std::ranges::find(kSets, word, &std::pair<const char*, const char*>::first);
        group != std::end(kSets)) {
      TRY(auto inner, parse_words(group->second, set));
      typed.insert(typed.end(), inner.begin(), inner.end());
      continue;
    }
    if (word == "runid" || word == "num_q") {
      (word == "runid" ? set.has_run_id : set.has_query_count) = true;
      continue;
    }
    Typed next = typed_measure(word);
    if (next.measure != nullptr) {
      typed.push_back(std::move(next));
    } else if (!typed.empty() && !typed.back().parameters.empty() && continues_parameters(word)) {
      typed.back().parameters += ',';
      typed.back().parameters += word;
    } else {
      return unknown(word);
    }
  }
  return typed;
}

Error bad_parameter(const Measure& measure, std::string_view text) {
  return fail(Code::usage, "the parameter " + shown(text) + " of " + measure.name +
                               " is not valid; cutoffs must be numbers above 0, gains GRADE=GAIN with a "
                               "whole GRADE, and p a probability below 1");
}

/// Whether a value by name fits: a gain of a grade, or the persistence of rank-biased precision. The residual
/// of the latter has no gains.
bool is_fitting(const Measure& measure, std::string_view name, double value) {
  if (name == "p" && measure.name.starts_with("rbp")) return value >= 0.0 && value < 1.0;
  std::int64_t grade = 0;
  return to_integer(name, grade) && std::in_range<int>(grade) && measure.name != "rbp_resid" &&
         is_moderate(value);
}

Result<MeasureParameters> parse_parameters(const Measure& measure, std::string_view text) {
  MeasureParameters parameters;
  if (text.empty()) {
    parameters.values = measure.defaults;
    return parameters;
  }
  if (measure.takes == Measure::Takes::nothing) return unknown(measure.name + "_" + std::string(text));
  while (!text.empty()) {
    const std::string_view part = take_until(text, ',');
    const std::size_t equals = part.find('=');
    double value = 0.0;
    if (measure.takes == Measure::Takes::pairs) {
      if (equals == std::string_view::npos || equals == 0 || !to_double(part.substr(equals + 1), value) ||
          !is_fitting(measure, part.substr(0, equals), value))
        return bad_parameter(measure, part);
      parameters.pairs.emplace_back(part.substr(0, equals), value);
      continue;
    }
    const bool is_whole = measure.takes == Measure::Takes::whole_cutoffs;
    if (!to_double(part, value) || !is_moderate(value) ||
        (is_whole && (value < 1.0 || value != std::floor(value) || value > 1e9)) ||
        (measure.takes == Measure::Takes::cutoffs && (value < 0.0 || value > 1e6)))
      return bad_parameter(measure, part);
    parameters.values.push_back(value);
  }
  if (measure.takes == Measure::Takes::weights && measure.name != "11pt_avg" &&
      parameters.values.size() != measure.defaults.size())
    return fail(Code::usage, measure.name + " needs " + std::to_string(measure.defaults.size()) + " numbers");
  return parameters;
}

/// The names of a request's columns, as trec_eval prints them.
std::vector<std::string> names_of(const Measure& measure, const MeasureParameters& parameters,
                                  const std::string& typed) {
  std::vector<std::string> names;
  switch (measure.takes) {
    case Measure::Takes::whole_cutoffs:
      for (const double cutoff : parameters.values)
        names.push_back(measure.name + "_" + std::to_string(static_cast<long>(cutoff)));
      return names;
    case Measure::Takes::cutoffs:
      for (const double cutoff : parameters.values) {
        char text[32];
        std::snprintf(text, sizeof text, "_%3.2f", cutoff);
        names.push_back(measure.name + text);
      }
      return names;
    default:
      return {typed.empty() ? measure.name : measure.name + "_" + typed};
  }
}

bool takes_cutoffs(const Measure& measure) {
  return measure.takes == Measure::Takes::whole_cutoffs || measure.takes == Measure::Takes::cutoffs;
}

/// Merges the requests for one cutoff measure into one, with ascending cutoffs, each once.
void merge_requests(std::vector<MeasureRequest>& requests) {
  const std::vector<MeasureRequest> all = requests;
  std::erase_if(requests, [&](const MeasureRequest& request) {
    return request.is_default && std::any_of(all.begin(), all.end(), [&](const MeasureRequest& other) {
             return other.measure == request.measure && !other.is_default;
           });
  });
  std::vector<MeasureRequest> merged;
  for (const Measure& measure : all_measures()) {
    const std::size_t before = merged.size();
    for (MeasureRequest& request : requests) {
      if (request.measure != &measure) continue;
      if (merged.size() == before || !takes_cutoffs(measure)) {
        if (std::ranges::find(merged, request.names, &MeasureRequest::names) == merged.end())
          merged.push_back(request);
        continue;
      }
      auto& values = merged.back().parameters.values;
      values.insert(values.end(), request.parameters.values.begin(), request.parameters.values.end());
    }
    if (merged.size() == before || !takes_cutoffs(measure)) continue;
    auto& values = merged.back().parameters.values;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    merged.back().names = names_of(measure, merged.back().parameters, "");
  }
  requests = std::move(merged);
}

}  // namespace

std::optional<Mode> mode_of(std::string_view name) {
  for (const auto& [mode, text] : kModes)
    if (name == text) return mode;
  return std::nullopt;
}

const Measure& MeasureSet::measure_of(std::size_t column) const {
  for (const MeasureRequest& request : requests) {
    if (column < request.names.size()) return *request.measure;
    column -= request.names.size();
  }
  broken_contract("no such column", BOOST_CURRENT_LOCATION);
}

std::vector<std::size_t> MeasureSet::number_columns() const {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < size(); ++column)
    if (!measure_of(column).is_text()) columns.push_back(column);
  return columns;
}

Result<MeasureSet> parse_measures(std::string_view text, bool in_table_order) {
  MeasureSet set;
  TRY(auto typed, parse_words(text, set));
  for (const Typed& item : typed) {
    TRY(auto parameters, parse_parameters(*item.measure, item.parameters));
    MeasureRequest request{item.measure, std::move(parameters), {}, item.parameters.empty()};
    request.names = names_of(*item.measure, request.parameters, item.parameters);
    set.requests.push_back(std::move(request));
  }
  if (set.requests.empty() && !set.has_run_id && !set.has_query_count)
    return fail(Code::usage, "no measure given; for example --measures map,ndcg_cut_10");
  if (in_table_order) merge_requests(set.requests);
  for (const MeasureRequest& request : set.requests)
    set.names.insert(set.names.end(), request.names.begin(), request.names.end());
  return set;
}

void evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules,
              std::span<double> values) {
  std::size_t column = 0;
  for (const MeasureRequest& request : set.requests) {
    request.measure->compute({ranking, request.parameters, rules},
                             values.subspan(column, request.names.size()));
    column += request.names.size();
  }
}

std::vector<double> evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules) {
  std::vector<double> values(set.size());
  evaluate(set, ranking, rules, values);
  return values;
}

double average(const Measure& measure, std::span<const double> values, std::size_t missing, bool is_complete,
               std::span<const double> documents) {
  double sum = 0.0;
  if (measure.average == Measure::Average::mean_of_documents && !documents.empty()) {
    double count = 0.0;
    for (std::size_t query = 0; query < values.size(); ++query) {
      sum += values[query] * documents[query];
      count += documents[query];
    }
    return count > 0.0 ? sum / count : 0.0;
  }
  for (const double value : values) sum += value;
  if (measure.average == Measure::Average::sum) return sum;
  const bool counts_missing = is_complete || measure.average == Measure::Average::mean_of_all_judged;
  const auto queries = static_cast<double>(values.size() + (counts_missing ? missing : 0));
  if (queries == 0.0) return 0.0;
  if (measure.average != Measure::Average::geometric) return sum / queries;
  if (counts_missing) sum += static_cast<double>(missing) * std::log(0.00001);
  return std::exp(sum / queries);
}

}  // namespace metafuse::evaluation
