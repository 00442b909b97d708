#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/listener.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

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

/// The outcome of add_click().
enum class ClickOutcome { recorded, duplicate, capped };

/// A judge's grade for a document of a base query. A judge's later judgment replaces the earlier one.
struct StoredJudgment {
  std::string domain;
  std::string query;     ///< as StoredSearch::query
  std::string document;  ///< canonical URL key
  std::string judge;     ///< name of the API key
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

/// A base query of a domain, summed up from its searches.
struct AskedQuery {
  std::string query;        ///< as StoredSearch::query
  BaseQuery slots;          ///< of its latest search
  std::string search;       ///< its latest search
  std::uint64_t times = 0;  ///< how often people were shown an answer
  UnixTime at = 0;          ///< of its latest search

  friend bool operator==(const AskedQuery&, const AskedQuery&) = default;
};

/// The part of a stored search that statistics need, read without its lists.
struct SearchFact {
  std::string query;  ///< as StoredSearch::query
  UnixTime at = 0;
  std::uint64_t times = 0;
  std::int64_t results = 0;  ///< results shown; -1 if an earlier version did not record it
};

/// A click with the search that it belongs to.
struct ClickFact {
  std::string search;  ///< as Click::search
  std::string query;
  std::uint32_t position = 0;
  UnixTime at = 0;
  UnixTime shown_at = 0;    ///< when the search was first shown
  std::uint64_t times = 0;  ///< how often the search was shown
};

/// One saved text of a domain's template file.
struct TemplateVersion {
  std::string domain;
  std::uint32_t number = 0;  ///< 1, 2, 3 ... within the domain
  std::string text;          ///< empty in results of template_versions()
  std::string author;        ///< name of the API key
  UnixTime at = 0;

  friend bool operator==(const TemplateVersion&, const TemplateVersion&) = default;
};

/// Records that are added to a store in one transaction.
struct StoreBatch {
  std::vector<StoredSearch> searches;
  std::vector<StoredJudgment> judgments;
  std::vector<TemplateVersion> templates;  ///< they get new numbers
};

/// A file that several servers share: a domain's templates, a model, a report or the keys.
struct SharedFile {
  std::string name;
  std::string text;
  std::string digest;  ///< SHA-256 of the text; empty: the file was removed
  /// 1, 2, 3 ... over all files; files that were changed together have the same number.
  std::int64_t change = 0;

  friend bool operator==(const SharedFile&, const SharedFile&) = default;
};

/// A change of a shared file, made only if the file is still the one that the caller knows.
struct SharedChange {
  std::string name;
  std::string known;                ///< digest of the text to be replaced; empty: there is no file yet
  std::optional<std::string> text;  ///< nothing: the file is removed
};

/// How many clicked interleaved searches each model won: the results that it placed got more weight
/// of clicks.
struct InterleavingCounts {
  std::uint64_t champion = 0;
  std::uint64_t challenger = 0;
  std::uint64_t ties = 0;

  friend bool operator==(const InterleavingCounts&, const InterleavingCounts&) = default;
};

struct RemovedCounts {
  std::uint64_t searches = 0;
  std::uint64_t clicks = 0;
  std::uint64_t judgments = 0;

  friend bool operator==(const RemovedCounts&, const RemovedCounts&) = default;
};

/// The data that a server keeps. It is implemented for SQLite and PostgreSQL. All functions may be called
/// from any thread; what a function has acknowledged survives a crash of the process. No address is ever
/// stored. Functions for which feedback waits take an `end`, so that several calls can share one deadline.
///
/// errors of all: try_again if the database is busy or the disk full, unavailable if it cannot be reached,
/// bad_data if its contents are invalid
class Store {
 public:
  virtual ~Store() = default;

  /// Adds searches in one transaction. For a search whose id is already there, only `times` is added.
  virtual Result<void> add_searches(std::span<const StoredSearch> searches) = 0;
  /// in: id - a stored or a delivered one
  virtual Result<std::optional<StoredSearch>> find_search(std::string_view id,
                                                          TimePoint end = TimePoint::max()) = 0;

  /// Records a click unless its result was clicked before in this search. Its weight is reduced to what the
  /// caps allow; if they allow nothing, nothing is recorded.
  virtual Result<ClickOutcome> add_click(const Click& click, const ClickCaps& caps,
                                         TimePoint end = TimePoint::max()) = 0;
  /// The clicks of one search, sorted by position.
  virtual Result<std::vector<Click>> clicks_of(std::string_view search) = 0;
  /// Ids of searches with clicks, the latest first.
  virtual Result<std::vector<std::string>> clicked_searches(std::string_view domain, std::size_t limit) = 0;

  /// Slots of the base queries whose results at least `people` clients (address prefixes) clicked on one day,
  /// the most clients first; queries of fewer people stay private. Days are not added up, because a client
  /// cannot be recognised on another day.
  virtual Result<std::vector<BaseQuery>> popular_queries(std::string_view domain, std::size_t people,
                                                         std::size_t limit) = 0;

  /// Stores judgments in one transaction.
  virtual Result<void> set_judgments(std::span<const StoredJudgment> judgments,
                                     TimePoint end = TimePoint::max()) = 0;
  Result<void> set_judgment(const StoredJudgment& judgment, TimePoint end = TimePoint::max()) {
    return set_judgments({&judgment, 1}, end);
  }
  /// The judged queries of a domain, sorted by query.
  virtual Result<std::vector<JudgedQuery>> judged_queries(std::string_view domain) = 0;
  /// Base queries that were searched or queued for judging, the most asked first.
  virtual Result<std::vector<AskedQuery>> asked_queries(std::string_view domain, std::size_t limit) = 0;
  /// One of the base queries of asked_queries(), or nothing.
  virtual Result<std::optional<AskedQuery>> find_query(std::string_view domain, std::string_view query) = 0;

  /// Calls `take` for every search of a domain since a time.
  virtual Result<void> for_each_search(std::string_view domain, UnixTime from,
                                       const std::function<void(const SearchFact& search)>& take) = 0;
  /// The latest clicks since a time, the latest first.
  virtual Result<std::vector<ClickFact>> latest_clicks(std::string_view domain, UnixTime from,
                                                       std::size_t limit) = 0;
  /// Calls `take` for the latest searches since a time that people were shown, with their lists.
  virtual Result<void> latest_searches(std::string_view domain, UnixTime from, std::size_t limit,
                                       const std::function<void(const StoredSearch& search)>& take) = 0;

  virtual Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                         std::string_view challenger) = 0;

  /// Adds a version of a domain's templates.
  ///
  /// out:    its number, or that of the latest version if that has the same text
  /// errors: try_again if the domain already has kMaxTemplateVersions
  virtual Result<std::uint32_t> add_template_version(const TemplateVersion& version) = 0;
  /// A domain's versions without their texts, the latest first.
  virtual Result<std::vector<TemplateVersion>> template_versions(std::string_view domain) = 0;
  virtual Result<std::optional<TemplateVersion>> find_template_version(std::string_view domain,
                                                                       std::uint32_t number) = 0;

  /// Adds everything in one transaction, or nothing. A search whose id is already there is not changed; a
  /// judgment replaces the judge's earlier one.
  ///
  /// errors: also try_again if a domain would have more than kMaxTemplateVersions
  virtual Result<void> add_batch(const StoreBatch& batch) = 0;

  /// The files with a change number above `after`, the earliest change first.
  virtual Result<std::vector<SharedFile>> shared_files(std::int64_t after) = 0;
  /// Makes all of the changes, or none if one of the files is no longer the one that the caller knows. If
  /// several callers change the same text, one of them succeeds.
  ///
  /// out: whether they were made
  virtual Result<bool> change_shared_files(std::span<const SharedChange> changes) = 0;
  /// Calls back after a change of shared files by this server or another one.
  ///
  /// out: nullptr if no other server can change them
  virtual std::unique_ptr<Listener> listen(std::function<void()> on_change) = 0;
  /// The database's clock, in milliseconds since 1970.
  virtual Result<std::int64_t> milliseconds_now() = 0;
  /// Takes or renews a task for `holder` for this many seconds, by the database's clock. That succeeds if
  /// nobody has the task, its holder's time is over, or `holder` already has it.
  ///
  /// out: whether `holder` has the task
  virtual Result<bool> hold_task(std::string_view task, std::string_view holder, std::int64_t seconds) = 0;

  /// Adds to a key's use on a day and returns the sum. Days are counted from 1970; earlier days are deleted.
  virtual Result<std::uint64_t> add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) = 0;

  /// The store's secret: 32 random bytes in hexadecimal digits, which never change. It is kept in a file
  /// outside of the database (see open_store()); a secret that an earlier version kept inside is moved there.
  ///
  /// errors: bad_config: the file holds another store's secret; no_input: the file is missing
  virtual Result<std::string> secret() = 0;
  /// The secret salt of one day. Salts older than the previous day are destroyed. The previous day's is kept
  /// so that servers whose clocks differ by less than a day use the same salts.
  virtual Result<std::string> daily_salt(std::int64_t day, TimePoint end = TimePoint::max()) = 0;

  /// Recomputes the digests of a domain's stored queries and judgments by query_digest(), in one transaction.
  /// Of two judgments that become the same, the later one stays. Searches without slots keep their digests.
  ///
  /// in:  plain_slot - see canonical_query()
  /// out: number of digests that changed
  virtual Result<std::uint64_t> unify_queries(std::string_view domain, std::string_view plain_slot) = 0;
  /// The plain slot of the last unify_queries() for a domain; empty if it had none or was never called.
  virtual Result<std::string> plain_slot(std::string_view domain) = 0;
  /// Removes slots and replaces documents by hashed_document(), in several transactions. If it is
  /// interrupted, it can be called again.
  virtual Result<void> hide_queries() = 0;

  /// Removes searches and clicks from before a time. A judged search, whose lists are training data, stays
  /// but loses its slots. So does a search with a later click.
  virtual Result<RemovedCounts> remove_before(UnixTime time) = 0;
  /// Removes the oldest searches, and their clicks, until the rest takes at most this many bytes. Judged
  /// searches stay.
  ///
  /// errors: also try_again if the judged searches alone take more
  virtual Result<RemovedCounts> keep_within(std::uint64_t max_bytes) = 0;
  /// The size of all stored searches in bytes.
  virtual Result<std::uint64_t> bytes() = 0;
  /// Deletes a domain's clicks, judgments or both.
  virtual Result<RemovedCounts> reset_feedback(std::string_view domain, bool clicks, bool judgments) = 0;

  /// Exports everything but secrets as JSON lines, `{"kind":"search"|"click"|"judgment"|"template", ...}`.
  virtual Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take) = 0;

  /// Checks that the database answers and is not damaged.
  virtual Result<void> check() = 0;
  /// What is wrong with the database, as far as is known, for the log; empty if nothing is. Never waits.
  virtual std::string trouble() const = 0;
  /// From now on every wait is short, because the process is about to end.
  virtual void hurry() = 0;
};

inline constexpr std::uint32_t kMaxTemplateVersions = 10000;

/// How a store is opened.
enum class StoreMode {
  serve,  ///< reads and writes
  read,   ///< changes nothing; works beside a server that writes
};

bool is_postgres_url(std::string_view location);

/// Opens the store that a configuration names.
///
/// in:     location - "postgresql://..." or the path of an SQLite file, which is created if it does
///         not exist;
///         secret_file - file with the secret, readable by its owner only; empty for FILE.secret beside an
///         SQLite file. A PostgreSQL store without such a file keeps its secret in the database.
/// errors: no_input: the folder or, in mode `read`, the file does not exist; bad_data: not a store of ours,
///         of a later version, or damaged; unavailable: no server answers, or another process writes to
///         the file
Result<std::unique_ptr<Store>> open_store(const std::string& location, StoreMode mode = StoreMode::serve,
                                          const std::string& secret_file = {});

}  // namespace metafuse::service
