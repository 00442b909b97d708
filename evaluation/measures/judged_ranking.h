#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
/// in:     grades - one a document (negative ones count as 0, decimals are rounded to the nearest)
///         order - document numbers, best first: the caller's tie rule is in it
///         scores - one a document, or empty
JudgedRanking judged_ranking(std::span<const double> grades, std::span<const std::uint32_t> order,
                             std::span<const double> scores = {});

/// Document numbers by score descending; equal scores keep their order in the input (LETOR's rule).
std::vector<std::uint32_t> order_by_score(std::span<const double> scores);

}  // namespace metafuse::evaluation
