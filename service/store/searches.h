#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/stored_search.h"

// Feedback on results as it is stored: clicks and judgments.

namespace metafuse::service {

/// A base query of a domain, summed up from its searches.
struct SearchedQuery {
  std::string query;        ///< as StoredSearch::query
  BaseQuery slots;          ///< of `search`; empty if none of its searches has them
  std::string search;       ///< its latest search that has slots, or else its latest
  std::uint64_t times = 0;  ///< how often people were shown an answer
  UnixTime at = 0;          ///< of its latest search

  friend bool operator==(const SearchedQuery&, const SearchedQuery&) = default;
};

/// The part of a stored search that statistics need, read without its lists.
struct SearchFact {
  std::string query;  ///< as StoredSearch::query
  UnixTime at = 0;
  std::uint64_t times = 0;
  std::int64_t results = 0;  ///< results shown
};

/// The searches of a store.
class StoredSearches {
 public:
  explicit StoredSearches(SqlDatabase& database) : database_(database) {}

  /// Adds searches in one transaction. For a search whose id is already there, only `times` is added.
  Result<void> add(std::span<const StoredSearch> searches);
  /// in: id - a stored or a delivered one
  Result<std::optional<StoredSearch>> find(std::string_view id, TimePoint end = TimePoint::max());

  /// Base queries that were searched or queued for judging and whose words are known, the most asked first.
  ///
  /// in: judge - the queries of which this one graded no document come before the others; "" for no judge
  Result<std::vector<SearchedQuery>> asked_queries(std::string_view domain, std::size_t limit,
                                                   std::string_view judge = {});
  /// How many base queries are known by their digests alone: hashed, or older than the retention.
  Result<std::size_t> count_wordless(std::string_view domain);
  /// A base query that was searched or queued for judging, or nothing.
  Result<std::optional<SearchedQuery>> find_query(std::string_view domain, std::string_view query);

  /// Every search of a domain since a time, without its lists.
  Result<std::vector<SearchFact>> facts(std::string_view domain, UnixTime from);
  /// The latest searches since a time that people were shown, the latest first.
  Result<std::vector<StoredSearch>> latest(std::string_view domain, UnixTime from, std::size_t limit);

 private:
  SqlDatabase& database_;
};

/// A click on a result that was shown.
struct Click {
  std::string search;          ///< its id
  std::uint32_t position = 0;  ///< index into StoredSearch::shown
  std::string domain;          ///< the search's
  Team team = Team::none;      ///< which model placed the result
  UnixTime at = 0;
  std::string prefix;  ///< hash of the client's address prefix with the day's salt; never an address
  std::string key;     ///< name of the API key, empty without one
  double weight = 1;   ///< its weight after the caps

  friend bool operator==(const Click&, const Click&) = default;
};

/// Upper limits for the sums of one day's click weights.
struct ClickCaps {
  double per_prefix = 20;
  double per_key = 200;
};

/// The outcome of StoredClicks::add().
enum class ClickOutcome { recorded, duplicate, capped };

/// A click with the search that it belongs to.
struct ClickFact {
  std::string search;  ///< as Click::search
  std::string query;
  std::uint32_t position = 0;
  UnixTime at = 0;
  UnixTime shown_at = 0;    ///< when the search was first shown
  std::uint64_t times = 0;  ///< how often the search was shown
};

/// A search with all of its clicks.
struct ClickedSearch {
  std::string search;         ///< as Click::search
  std::vector<Click> clicks;  ///< sorted by position
};

/// How many clicked drafts each model won: the results that it placed got more weight of clicks. All who ask
/// the same within an hour are shown one draft, whose coins fell once, so that together they have one vote.
struct InterleavingCounts {
  std::uint64_t champion = 0;
  std::uint64_t challenger = 0;
  std::uint64_t ties = 0;

  friend bool operator==(const InterleavingCounts&, const InterleavingCounts&) = default;
};

/// The clicks of a store.
class StoredClicks {
 public:
  explicit StoredClicks(SqlDatabase& database) : database_(database) {}

  /// Records a click unless its result was clicked before in this search. Its weight is reduced to what the
  /// caps allow; if they allow nothing, nothing is recorded.
  Result<ClickOutcome> add(const Click& click, const ClickCaps& caps, TimePoint end = TimePoint::max());
  /// The clicks of one search, sorted by position.
  Result<std::vector<Click>> of(std::string_view search);
  /// The latest clicks since a time, the latest first.
  Result<std::vector<ClickFact>> latest(std::string_view domain, UnixTime from, std::size_t limit);
  /// A text that changes whenever somebody clicks in a domain.
  ///
  /// cost: the clicks of the latest second
  Result<std::string> mark(std::string_view domain);
  /// The clicked searches, those with the latest clicks first.
  Result<std::vector<ClickedSearch>> searches(std::string_view domain, std::size_t limit);
  /// Slots of the base queries whose results at least `people` clients (address prefixes) clicked on one day,
  /// the most clients first; queries of fewer people stay private. Days are not added up, because a client
  /// cannot be recognised on another day.
  Result<std::vector<BaseQuery>> popular_queries(std::string_view domain, std::size_t people,
                                                 std::size_t limit);
  Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                 std::string_view challenger);

 private:
  SqlDatabase& database_;
};

/// The best grade that a judge can give; 0 is not relevant.
inline constexpr int kMaxGrade = 10;

/// What the name of a judge begins with if it is a language model; no API key may be named so.
inline constexpr std::string_view kModelJudge = "model:";

/// A judge's grade for a document of a base query. A judge's later judgment replaces the earlier one.
struct StoredJudgment {
  std::string domain;
  std::string query;     ///< as StoredSearch::query
  std::string document;  ///< canonical URL key
  std::string judge;     ///< name of the API key, or kModelJudge and the name of a language model
  int grade = 0;
  std::string search;  ///< the search whose results were judged
  UnixTime at = 0;

  friend bool operator==(const StoredJudgment&, const StoredJudgment&) = default;
};

/// A base query with all of its judgments.
struct JudgedQuery {
  std::string query;
  std::string search;                     ///< the search that was judged last
  std::vector<StoredJudgment> judgments;  ///< sorted by document, then judge

  friend bool operator==(const JudgedQuery&, const JudgedQuery&) = default;
};

/// The judgments of a store.
class StoredJudgments {
 public:
  explicit StoredJudgments(SqlDatabase& database) : database_(database) {}

  /// Stores judgments in one transaction.
  Result<void> set(std::span<const StoredJudgment> judgments, TimePoint end = TimePoint::max());
  Result<void> set(const StoredJudgment& judgment, TimePoint end = TimePoint::max()) {
    return set({&judgment, 1}, end);
  }
  /// A text that changes whenever a domain's judgments do.
  Result<std::string> mark(std::string_view domain);
  /// The judgments of one base query, sorted by document and judge.
  Result<std::vector<StoredJudgment>> of(std::string_view domain, std::string_view query);
  /// The judged queries of a domain, sorted by query.
  Result<std::vector<JudgedQuery>> queries(std::string_view domain);

 private:
  SqlDatabase& database_;
};

}  // namespace metafuse::service
