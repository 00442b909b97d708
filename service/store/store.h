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
  std::uint32_t position = 0;  ///< in StoredSearch::shown
  std::string domain;          ///< the search's
  Team team = Team::none;      ///< who placed the result
  UnixTime at = 0;
  std::string prefix;  ///< the client's address prefix under the day's salt; never an address
  std::string key;     ///< name of the API key, empty without one
  double weight = 1;   ///< what it counts after the caps

  friend bool operator==(const Click&, const Click&) = default;
};

/// The largest sums of weights that one day's clicks may reach.
struct ClickCaps {
  double per_prefix = 20;
  double per_key = 200;
};

/// What became of a click.
enum class ClickOutcome { recorded, duplicate, capped };

/// What a judge says of a document of a base query. A judge's later judgment replaces the earlier one.
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

/// A base query with everything that was judged of it.
struct JudgedQuery {
  std::string query;
  std::string search;                     ///< the search that was judged last
  std::vector<StoredJudgment> judgments;  ///< by document, then judge

  friend bool operator==(const JudgedQuery&, const JudgedQuery&) = default;
};

/// A base query of a domain, by what its searches say.
struct AskedQuery {
  std::string query;        ///< as StoredSearch::query
  BaseQuery slots;          ///< of its latest search
  std::string search;       ///< its latest search
  std::uint64_t times = 0;  ///< how often people were shown an answer
  UnixTime at = 0;          ///< of its latest search

  friend bool operator==(const AskedQuery&, const AskedQuery&) = default;
};

/// What of a stored search is counted without reading its lists.
struct SearchFact {
  std::string query;  ///< as StoredSearch::query
  UnixTime at = 0;
  std::uint64_t times = 0;
  std::int64_t results = 0;  ///< that were shown; -1 where an earlier version did not keep it
};

/// A click with the search that it belongs to.
struct ClickFact {
  std::string search;  ///< as Click::search
  std::string query;
  std::uint32_t position = 0;
  UnixTime at = 0;
  UnixTime shown_at = 0;    ///< when the search was shown first
  std::uint64_t times = 0;  ///< how often the search was shown
};

/// One saved text of a domain's template file.
struct TemplateVersion {
  std::string domain;
  std::uint32_t number = 0;  ///< 1, 2, 3 ... within the domain
  std::string text;          ///< empty in lists of versions
  std::string author;        ///< name of the API key
  UnixTime at = 0;

  friend bool operator==(const TemplateVersion&, const TemplateVersion&) = default;
};

/// What is added to a store at once.
struct StoreBatch {
  std::vector<StoredSearch> searches;
  std::vector<StoredJudgment> judgments;
  std::vector<TemplateVersion> templates;  ///< their numbers are given anew
};

/// A file that several servers share: templates, models, reports, keys.
struct SharedFile {
  std::string name;
  std::string text;
  std::string digest;       ///< SHA-256 of the text; empty: the file is gone
  std::int64_t change = 0;  ///< 1, 2, 3 ... over all files; files changed at once have the same

  friend bool operator==(const SharedFile&, const SharedFile&) = default;
};

/// What a shared file is to become, if it still is what the caller knows.
struct SharedChange {
  std::string name;
  std::string known;                ///< digest of the text that is replaced; empty: there is none
  std::optional<std::string> text;  ///< nothing: the file goes
};

/// Clicked interleaved searches by who won them: more weight of clicks on the results it placed.
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

/// What a server remembers. Two real implementations: SQLite and PostgreSQL. All functions may be called from
/// any thread; what one has acknowledged survives the death of the process. No address is ever stored. What
/// feedback waits for takes an `end`, so that several calls together keep one deadline.
///
/// errors of all: try_again when the database is busy or the disk full, unavailable when it cannot be
/// reached, bad_data when it holds what it cannot hold
class Store {
 public:
  virtual ~Store() = default;

  /// One transaction; of a search whose id is already there only `times` grows.
  virtual Result<void> add_searches(std::span<const StoredSearch> searches) = 0;
  /// in: id - a search's own or one that was delivered
  virtual Result<std::optional<StoredSearch>> find_search(std::string_view id,
                                                          TimePoint end = TimePoint::max()) = 0;

  /// Records a click unless its result was clicked before in this search. Its weight is cut to what the caps
  /// leave; nothing is recorded when they leave nothing.
  virtual Result<ClickOutcome> add_click(const Click& click, const ClickCaps& caps,
                                         TimePoint end = TimePoint::max()) = 0;
  /// Of one search, by position.
  virtual Result<std::vector<Click>> clicks_of(std::string_view search) = 0;
  /// Ids of searches with clicks, the latest first.
  virtual Result<std::vector<std::string>> clicked_searches(std::string_view domain, std::size_t limit) = 0;

  /// Slots of the base queries whose results at least `people` clients (address prefixes) clicked on one
  /// day, the most clients first; what fewer asked is nobody else's business. One client counts anew each
  /// day, so days are not added up.
  virtual Result<std::vector<BaseQuery>> popular_queries(std::string_view domain, std::size_t people,
                                                         std::size_t limit) = 0;

  /// One transaction.
  virtual Result<void> set_judgments(std::span<const StoredJudgment> judgments,
                                     TimePoint end = TimePoint::max()) = 0;
  Result<void> set_judgment(const StoredJudgment& judgment, TimePoint end = TimePoint::max()) {
    return set_judgments({&judgment, 1}, end);
  }
  /// By query.
  virtual Result<std::vector<JudgedQuery>> judged_queries(std::string_view domain) = 0;
  /// Base queries that were searched or put up for judging, the most asked first.
  virtual Result<std::vector<AskedQuery>> asked_queries(std::string_view domain, std::size_t limit) = 0;
  /// One of them, or nothing.
  virtual Result<std::optional<AskedQuery>> find_query(std::string_view domain, std::string_view query) = 0;

  /// Every search of a domain since a time.
  virtual Result<void> for_each_search(std::string_view domain, UnixTime from,
                                       const std::function<void(const SearchFact& search)>& take) = 0;
  /// The latest clicks since a time, the latest first.
  virtual Result<std::vector<ClickFact>> latest_clicks(std::string_view domain, UnixTime from,
                                                       std::size_t limit) = 0;
  /// The latest searches that people were shown since a time, with their lists.
  virtual Result<void> latest_searches(std::string_view domain, UnixTime from, std::size_t limit,
                                       const std::function<void(const StoredSearch& search)>& take) = 0;

  virtual Result<InterleavingCounts> interleaving_counts(std::string_view domain, std::string_view champion,
                                                         std::string_view challenger) = 0;

  /// out: its number; that of the latest version when its text is the same
  /// errors: try_again when the domain has kMaxTemplateVersions
  virtual Result<std::uint32_t> add_template_version(const TemplateVersion& version) = 0;
  /// Without texts, the latest first.
  virtual Result<std::vector<TemplateVersion>> template_versions(std::string_view domain) = 0;
  virtual Result<std::optional<TemplateVersion>> find_template_version(std::string_view domain,
                                                                       std::uint32_t number) = 0;

  /// One transaction: all of it is added or nothing. A search whose id is already there stays as it is; a
  /// judgment replaces the judge's earlier one.
  ///
  /// errors: try_again too when a domain has kMaxTemplateVersions
  virtual Result<void> add_batch(const StoreBatch& batch) = 0;

  /// Files that changed after a change, the earliest first.
  virtual Result<std::vector<SharedFile>> shared_files(std::int64_t after) = 0;
  /// Makes all of the changes, or none when one of the files is no longer what the caller knows. Of callers
  /// that know the same text one wins.
  ///
  /// out: whether they were made
  virtual Result<bool> change_shared_files(std::span<const SharedChange> changes) = 0;
  /// Calls back after a change of shared files, of this server or another.
  ///
  /// out: nullptr where no other server can change them
  virtual std::unique_ptr<Listener> listen(std::function<void()> on_change) = 0;
  /// The database's clock, in milliseconds since 1970.
  virtual Result<std::int64_t> milliseconds_now() = 0;
  /// Whether `holder` has the task of this name for so many seconds from now, by the database's clock: nobody
  /// has it, the time of who had it is over, or the holder has it already and keeps it.
  virtual Result<bool> hold_task(std::string_view task, std::string_view holder, std::int64_t seconds) = 0;

  /// Adds to what a key used on a day, and returns the sum. Days count from 1970; earlier ones are forgotten.
  virtual Result<std::uint64_t> add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) = 0;

  /// A secret of 32 random bytes in hexadecimal digits that stays the same as long as the store lives. It
  /// lies in a file outside the database (see StoreOptions), where a store that kept it inside is moved.
  ///
  /// errors: bad_config: the file holds another store's secret; no_input: it is gone
  virtual Result<std::string> secret() = 0;
  /// The secret of one day. Those of days before the day before are destroyed: clocks that are apart by less
  /// than a day use the same ones.
  virtual Result<std::string> daily_salt(std::int64_t day, TimePoint end = TimePoint::max()) = 0;

  /// Makes the digests of a domain's stored queries and judgments those of query_digest(), in one
  /// transaction; of two judgments that become one the later stays. Searches without slots keep theirs.
  ///
  /// in:  plain_slot - see canonical_query()
  /// out: digests that changed
  virtual Result<std::uint64_t> unify_queries(std::string_view domain, std::string_view plain_slot) = 0;
  /// The slot that unify_queries() was last given for a domain; empty when it had none or never was.
  virtual Result<std::string> plain_slot(std::string_view domain) = 0;
  /// Removes what slots and documents say in clear, in one transaction: see hashed_document().
  virtual Result<void> hide_queries() = 0;

  /// Removes searches and clicks from before a time. A judged search stays, for its lists are training data,
  /// but loses its slots.
  virtual Result<RemovedCounts> remove_before(UnixTime time) = 0;
  /// Removes the oldest searches, and their clicks, until those left take no more than so many bytes. Judged
  /// ones stay.
  ///
  /// errors: try_again too when judged searches alone take more
  virtual Result<RemovedCounts> keep_within(std::uint64_t max_bytes) = 0;
  /// Bytes that searches take.
  virtual Result<std::uint64_t> bytes() = 0;
  /// Forgets a domain's clicks or judgments or both.
  virtual Result<RemovedCounts> reset_feedback(std::string_view domain, bool clicks, bool judgments) = 0;

  /// Everything but secrets as JSON lines, `{"kind":"search"|"click"|"judgment"|"template", ...}`.
  virtual Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take) = 0;

  /// Whether the database is sound and answers.
  virtual Result<void> check() = 0;
  /// What is wrong with the database as far as is known, for the log; empty when nothing is. Never waits.
  virtual std::string trouble() const = 0;
  /// From now on nothing waits for more than a moment: the process is about to end.
  virtual void hurry() = 0;
};

inline constexpr std::uint32_t kMaxTemplateVersions = 10000;

/// How a store is opened.
enum class StoreMode {
  serve,  ///< reads and writes
  read,   ///< beside a server that writes: changes nothing
};

bool is_postgres_url(std::string_view location);

/// Opens the store that a configuration names.
///
/// in:     location - "postgresql://..." or the path of an SQLite file, which is made when it does not exist;
///         secret_file - where the secret lies, readable by its owner only; empty for FILE.secret beside an
///         SQLite file. A PostgreSQL store without a file keeps its secret inside.
/// errors: no_input: the folder or, to read, the file does not exist; bad_data: not a database of ours, of a
///         later version, or damaged; unavailable: no server there, or another process writes to the file
Result<std::unique_ptr<Store>> open_store(const std::string& location, StoreMode mode = StoreMode::serve,
                                          const std::string& secret_file = {});

}  // namespace metafuse::service
