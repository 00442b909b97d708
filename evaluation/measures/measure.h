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

struct QueryJudgments;

/// Stand-ins for the grade of a retrieved document that has none (trec_eval's RELVALUE_NONPOOL
/// and RELVALUE_UNJUDGED).
constexpr int kNotPooled = -1;  ///< no judgment at all
constexpr int kUnjudged = -2;   ///< in the pool with a negative grade: known not to be judged

/// How many judged documents of a query have this grade.
struct GradeCount {
  int grade = 0;
  std::size_t count = 0;

  friend bool operator==(const GradeCount&, const GradeCount&) = default;
};

/// The grades of a query's documents, ascending, but for those below 0.
/// cost: O(documents), and O(n log n) for n documents of grades above 63
std::vector<GradeCount> grade_counts(const QueryJudgments& judgments);

/// One query's ranking as the measures see it: the grades in rank order, and the grades of all that could
/// be found.
struct JudgedRanking {
  std::vector<int> grades;     ///< best rank first; kNotPooled or kUnjudged for a document without a grade
  std::vector<double> scores;  ///< parallel to grades, non-increasing; empty when ties do not matter
  std::vector<GradeCount> judged;  ///< all judged documents, retrieved or not, ascending by grade

  std::size_t retrieved() const { return grades.size(); }
  std::size_t relevant(int level) const;            ///< judged documents of at least this grade
  std::size_t relevant_retrieved(int level) const;  ///< those of them that were retrieved
};

/// A ranking of documents that all have grades, as in LETOR files and in a learner's validation set.
///
/// in:     grades - one per document (negative grades count as 0, those above a billion as a billion,
///         decimals are rounded to the nearest)
///         order - document numbers, best first; the caller has already broken ties
///         scores - one per document, or empty
JudgedRanking judged_ranking(std::span<const double> grades, std::span<const std::uint32_t> order,
                             std::span<const double> scores = {});

/// The grade as judged_ranking() counts it.
int whole_grade(double grade);

/// Document numbers by descending score; equal scores keep their order in the input (LETOR's rule).
std::vector<std::uint32_t> order_by_score(std::span<const double> scores);

/// The program whose rules apply where evaluation programs differ; docs/evaluation.md lists every difference.
enum class Mode { trec10, trec9, letor3, letor4, mslr, gdeval };

/// The mode of a name, "trec10" ... "gdeval"; nullopt for any other.
std::optional<Mode> mode_of(std::string_view name);

/// The lowest grade that is relevant if a caller names none: MSLR's script counts from 2.
constexpr int default_relevance_level(Mode mode) {
  return mode == Mode::mslr ? 2 : 1;
}

struct Rules {
  Mode mode = Mode::trec10;
  int relevance_level = 1;       ///< the lowest grade that counts as relevant
  int top_grade = 4;             ///< used by ERR: the highest grade that a judge could give
  double collection_size = 0.0;  ///< used by the fourth weight of `utility`
};

/// The parameters that a user gave one measure: cutoffs, weights, or gains by grade.
struct MeasureParameters {
  std::vector<double> values;
  std::vector<std::pair<std::string, double>> pairs;  ///< name and value, as in `ndcg.1=3,2=9`
};

/// The input of a measure: one query's ranking, the measure's parameters and the rules.
struct MeasuredQuery {
  const JudgedRanking& ranking;
  const MeasureParameters& parameters;
  const Rules& rules;

  bool is_relevant(int grade) const { return grade >= rules.relevance_level; }
  /// How many judged documents are relevant, retrieved or not.
  std::size_t relevant() const { return ranking.relevant(rules.relevance_level); }
};

/// One row of the table of measures.
struct Measure {
  enum class Takes { nothing, whole_cutoffs, cutoffs, weights, pairs };
  enum class Average { mean, sum, geometric, mean_of_all_judged, mean_of_documents };

  std::string name;  ///< trec_eval's name, without parameters
  std::string meaning;
  std::string source;
  /// Writes one value per cutoff, or a single one.
  void (*compute)(const MeasuredQuery&, std::span<double>) = nullptr;
  Takes takes = Takes::nothing;
  std::vector<double> defaults = {};
  Average average = Average::mean;
  bool is_count = false;     ///< printed without decimals
  bool is_per_query = true;  ///< false: only the summary is printed
  bool is_cost = false;      ///< lower is better

  /// True for relstring, whose value per query is a text and which has no mean.
  bool is_text() const { return name == "relstring"; }
};

/// All measures: trec_eval's in the order in which it prints them, then ours.
std::span<const Measure> all_measures();

/// A measure with its parameters; it has one column per cutoff.
struct MeasureRequest {
  const Measure* measure = nullptr;
  MeasureParameters parameters;
  std::vector<std::string> names;  ///< "P_5", "P_10": one per column
  bool is_default = false;         ///< no parameters were given, so the measure's defaults hold
};

/// The columns of an evaluation.
struct MeasureSet {
  std::vector<MeasureRequest> requests;
  std::vector<std::string> names;  ///< of all columns, in order
  bool has_run_id = false;         ///< "runid" was requested, by name or through one of trec_eval's sets
  bool has_query_count = false;    ///< the same for "num_q"

  std::size_t size() const { return names.size(); }
  const Measure& measure_of(std::size_t column) const;
  /// All columns but those of texts.
  std::vector<std::size_t> number_columns() const;
};

/// Reads a list such as "map,P_10,ndcg_cut.5,10,20,ndcg.1=3,2=9" (trec_eval's two ways of giving parameters)
/// or the name of a set: official, all_trec, set, paper (of Freund et al. 2003), letor, graded. With
/// `in_table_order`, columns follow the table's order, and the parameters of one measure are merged and
/// sorted; otherwise columns keep the order in which they were requested.
///
/// errors: usage, naming the unknown measure or the invalid parameter
Result<MeasureSet> parse_measures(std::string_view text, bool in_table_order = false);

/// One value per column, always finite.
std::vector<double> evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules);
void evaluate(const MeasureSet& set, const JudgedRanking& ranking, const Rules& rules,
              std::span<double> values);

/// Summarises one column over the queries.
///
/// in:     values - one per evaluated query; missing - judged queries that the run has no list for: they
///         count as 0 (or as the floor of the geometric mean) if the mean is over all judged queries;
///         documents - the length of each query's list, the weights of a mean over documents (empty:
///         equal weights)
double average(const Measure& measure, std::span<const double> values, std::size_t missing, bool is_complete,
               std::span<const double> documents = {});

/// How many documents the set's relstring shows; nullopt if the set has no relstring.
std::optional<double> relstring_length(const MeasureSet& set);

/// trec_eval's relstring: the grades of the first `length` documents, one character each.
std::string relstring_of(const JudgedRanking& ranking, double length);

}  // namespace metafuse::evaluation
