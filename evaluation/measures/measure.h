#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace metafuse::evaluation {

/// Grades of retrieved documents that have none (trec_eval's RELVALUE_NONPOOL and RELVALUE_UNJUDGED).
constexpr int kNotPooled = -1;  ///< no judgment at all
constexpr int kUnjudged = -2;   ///< in the pool with a negative grade: known not to have been judged

/// How many judged documents of a query have a grade.
struct GradeCount {
  int grade = 0;
  std::size_t count = 0;

  friend bool operator==(const GradeCount&, const GradeCount&) = default;
};

/// One query's ranking as measures see it: grades in rank order, and what was there to be found.
struct JudgedRanking {
  std::vector<int> grades;     ///< best rank first; kNotPooled and kUnjudged where there is no grade
  std::vector<double> scores;  ///< beside grades, not ascending; empty when ties are of no interest
  std::vector<GradeCount>
      judged;  ///< every judged document of the query, retrieved or not, ascending by grade

  std::size_t retrieved() const { return grades.size(); }
  std::size_t relevant(int level) const;            ///< judged documents of at least this grade
  std::size_t relevant_retrieved(int level) const;  ///< of them, retrieved
};

/// The ranking of documents that all have grades, as a learner's validation and LETOR files need it.
///
/// in:     grades - one per document (negative ones count as 0, decimals are rounded to the nearest)
///         order - document numbers, best first: the caller's tie rule is in it
///         scores - one per document, or empty
JudgedRanking judged_ranking(std::span<const double> grades, std::span<const std::uint32_t> order,
                             std::span<const double> scores = {});

/// Document numbers by score descending; equal scores keep their order in the input (LETOR's rule).
std::vector<std::uint32_t> order_by_score(std::span<const double> scores);

/// Whose rules hold where evaluation programs differ; docs/evaluation.md lists every difference.
enum class Mode { trec10, trec9, letor3, letor4, mslr, gdeval };

/// "trec10" ... "gdeval", or nothing.
std::optional<Mode> mode_of(std::string_view name);

struct Rules {
  Mode mode = Mode::trec10;
  int relevance_level = 1;       ///< the lowest grade that counts as relevant
  int top_grade = 4;             ///< of ERR: the highest grade that a judge could give
  double collection_size = 0.0;  ///< of utility's fourth weight
};

/// The parameters of one measure as asked for: cutoffs, weights, or gains by grade.
struct MeasureParameters {
  std::vector<double> values;
  std::vector<std::pair<std::string, double>> pairs;  ///< of `ndcg.1=3,2=9`: name, value
};

/// What a measure looks at: one query's ranking, the measure's parameters and the rules.
struct MeasuredQuery {
  const JudgedRanking& ranking;
  const MeasureParameters& parameters;
  const Rules& rules;

  bool is_relevant(int grade) const { return grade >= rules.relevance_level; }
  /// Judged documents that are relevant, retrieved or not.
  std::size_t relevant() const { return ranking.relevant(rules.relevance_level); }
};

/// A row of the table of measures.
struct Measure {
  enum class Takes { nothing, whole_cutoffs, cutoffs, weights, pairs };
  enum class Average { mean, sum, geometric, mean_of_all_judged, mean_of_documents };

  std::string name;  ///< as trec_eval says it, without parameters
  std::string meaning;
  std::string source;
  Takes takes = Takes::nothing;
  std::vector<double> defaults;
  Average average = Average::mean;
  bool is_count = false;     ///< printed without decimals
  bool is_per_query = true;  ///< false: only the summary is printed
  bool is_cost = false;      ///< lower is better
  /// Writes one value for each cutoff, or one.
  void (*compute)(const MeasuredQuery&, std::span<double>) = nullptr;
};

/// All measures in the order in which trec_eval prints them, then ours.
std::span<const Measure> all_measures();

/// A measure with its parameters; it has one column for each cutoff.
struct MeasureRequest {
  const Measure* measure = nullptr;
  MeasureParameters parameters;
  std::vector<std::string> names;  ///< "P_5", "P_10": one per column
  bool is_default = false;         ///< without parameters of its own
};

/// The columns of an evaluation.
struct MeasureSet {
  std::vector<MeasureRequest> requests;
  std::vector<std::string> names;  ///< of all columns
  bool has_run_id = false;         ///< "runid" was asked for, by name or by a set of trec_eval's
  bool has_query_count = false;    ///< "num_q"

  std::size_t size() const { return names.size(); }
  /// The column of a full name such as "ndcg_cut_10".
  std::optional<std::size_t> column(std::string_view name) const;
  const Measure& measure_of(std::size_t column) const;
};

/// Reads a list such as "map,P_10,ndcg_cut.5,10,20,ndcg.1=3,2=9" (trec_eval's two ways of giving parameters)
/// or a set: official, all_trec, set, paper (of Freund et al. 2003), letor, graded. Columns come in the
/// table's order with parameters of one measure merged and ascending when `in_table_order`, else in the order
/// asked for.
///
/// errors: usage naming the measure that does not exist or the parameter that is none
Result<MeasureSet> parse_measures(std::string_view text, bool in_table_order = false);

/// One value per column. Every value is finite.
std::vector<double> evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules);
void evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules,
              std::span<double> values);

/// The summary of one column over queries.
///
/// in:     values - one for each evaluated query; missing - judged queries without a list: they count 0, or
///         the geometric floor, when the mean is over all judged queries; documents - how long each query's
///         list is, which means over documents weigh by (empty: all the same)
double average(const Measure& measure, std::span<const double> values, std::size_t missing, bool is_complete,
               std::span<const double> documents = {});

/// How many documents the set's relstring shows; none when it has none.
std::optional<double> relstring_length(const MeasureSet& set);

/// trec_eval's relstring: the grades of the first `length` documents, a character each.
std::string relstring_of(const JudgedRanking& ranking, double length);

}  // namespace metafuse::evaluation
