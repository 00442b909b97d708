#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
  AskedQuery asked;
  std::size_t own_documents = 0;  ///< documents that this judge graded
  std::size_t documents = 0;      ///< documents that any judge graded
  std::size_t judges = 0;
};

/// The agreement of two judges on all documents that both graded.
struct JudgePair {
  std::string first;
  std::string second;
  evaluation::JudgeAgreement agreement;
};

/// The state of a domain's judging, as one judge sees it.
struct JudgingState {
  /// Queries that this judge has not graded first; in each part the most asked first.
  std::vector<QueuedQuery> queries;
  std::size_t judged = 0;        ///< how many of the queries this judge graded
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

/// Grades of results by their positions in what a search showed, counted from 1.
using GradesByPosition = std::vector<std::pair<std::uint32_t, int>>;

/// Stores grades of one search's results.
///
/// errors: usage: no such search in the domain, a position that was not shown, a grade beyond kBestGrade
Result<void> store_grades(Store& store, std::string_view domain, std::string_view judge,
                          std::string_view search, const GradesByPosition& grades, UnixTime now);

/// A base query as one word: the percent-encoded value of the plain slot, "slot.NAME=value&..." if there are
/// other slots, or "digest:..." if the words are not known.
///
/// in: plain_slot - of the domain, see canonical_query()
std::string query_word(const AskedQuery& query, std::string_view plain_slot);

/// errors: bad_data for text that query_word() does not write
Result<BaseQuery> query_of_word(std::string_view word, std::string_view plain_slot);

/// Judgments of a base query, read from a file.
struct ImportedQuery {
  BaseQuery slots;                    ///< empty if only the digest is known
  std::string digest;                 ///< empty: computed from the slots
  std::map<std::string, int> grades;  ///< by document; if there are none, the query is added to the queue
};

/// Reads qrels lines whose topics are texts of query_word().
///
/// errors: bad_data naming the line
Result<std::vector<ImportedQuery>> read_qrels_text(std::string_view text, std::string_view plain_slot);

struct ImportedJudgments {
  std::size_t queries = 0;
  std::size_t judgments = 0;
  /// Queries without a stored search that has lists; models learn from them once there is one.
  std::size_t without_search = 0;
};

/// What the digests of queries and documents in a store depend on.
struct StoreIdentity {
  std::string_view secret;
  std::string_view plain_slot;      ///< of the domain
  bool are_queries_hashed = false;  ///< see SearchStoring
};

/// Stores judgments under a judge's name. Queries without judgments are added to the queue for judges.
Result<ImportedJudgments> import_judgments(Store& store, std::string_view domain, std::string_view judge,
                                           const std::vector<ImportedQuery>& queries,
                                           const StoreIdentity& identity, UnixTime now);

enum class JudgmentFormat { qrels, lines };

/// A domain's judgments as qrels, or as the JSON lines that `metafuse record` and the import read.
///
/// in: judge - whose grades; empty: the lower median of all judges' grades
Result<std::string> judgments_text(Store& store, std::string_view domain, std::string_view plain_slot,
                                   JudgmentFormat format, std::string_view judge = {});

}  // namespace metafuse::service
