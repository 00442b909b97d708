#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/agreement.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

// Judging: which base queries of a domain wait for judges, which results of an answer a judge sees and in
// which order, and how far two judges agree.

namespace metafuse::service {

/// Judges on the page and its API grade 0 (not relevant) to kBestGrade.
inline constexpr int kBestGrade = 4;

/// Which results of an answer are judged.
struct JudgedPool {
  bool is_of_lists = false;  ///< take the first of every list; else the first of the fused ranking
  int depth = 10;            ///< how many from the top, 1 to kMaxPoolDepth

  friend bool operator==(const JudgedPool&, const JudgedPool&) = default;
};
inline constexpr int kMaxPoolDepth = 50;
inline constexpr std::size_t kMaxPooled = 200;

/// The pool's results, in a random order that depends on the judge and the query: it reveals no ranks, and a
/// judge gets the same order again.
///
/// out: positions in answer.results, the kMaxPooled best-ranked at most
std::vector<std::size_t> pooled_positions(const SearchAnswer& answer, const JudgedPool& pool,
                                          std::string_view judge);

/// A base query that waits for judges.
struct QueuedQuery {
  SearchedQuery asked;
  std::size_t own_documents = 0;  ///< documents that this judge graded
  std::size_t documents = 0;      ///< documents that any person graded
  std::size_t judges = 0;         ///< people
};

/// The agreement of two judges on all documents that both graded. A language model's grades beside a person's
/// are read on people's scale, see on_scale().
struct JudgePair {
  std::string first;
  std::string second;
  evaluation::JudgeAgreement agreement;
};

/// The state of a domain's judging, as one judge sees it.
struct JudgingState {
  /// Queries that this judge has not graded first; in each part the most asked first. At most kMaxQueued.
  std::vector<QueuedQuery> queries;
  bool has_more = false;         ///< the domain has further queries
  std::size_t judged = 0;        ///< how many of the queries this judge graded; with has_more, of all queries
  std::vector<JudgePair> pairs;  ///< sorted by names; without pairs that graded no common document
};

inline constexpr std::size_t kMaxQueued = 500;

/// Queries whose words are not known (hashed, or older than the retention) cannot be judged and are left out.
///
/// errors: those of the store
Result<JudgingState> judging_state(Store& store, std::string_view domain, std::string_view judge);

/// The next query after `after` that the judge has not graded, continuing from the start at the end; nullptr
/// if there is none.
const QueuedQuery* next_query(const JudgingState& state, std::string_view after);

/// One judge's grades of a base query's documents.
Result<std::map<std::string, int>> grades_by(Store& store, std::string_view domain, std::string_view query,
                                             std::string_view judge);

/// Under whose name judgments of a domain are stored, and when.
struct JudgmentSource {
  std::string_view domain;
  std::string_view judge;
  UnixTime now = 0;
};

/// Grades of results by their positions in what a search showed, counted from 1.
using GradesByPosition = std::vector<std::pair<std::uint32_t, int>>;

/// Stores grades of one search's results.
///
/// out:    "" if they were stored, else what is wrong: no such search in the domain, a position that was not
///         shown, a grade beyond kBestGrade
/// errors: those of the store
Result<std::string> store_grades(Store& store, const JudgmentSource& source, std::string_view search,
                                 const GradesByPosition& grades);

}  // namespace metafuse::service
