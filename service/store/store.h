#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/privacy.h"
#include "service/store/searches.h"
#include "service/store/shared_state.h"
#include "service/store/sql_database.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// Records that are added to a store in one transaction.
struct StoreBatch {
  std::vector<StoredSearch> searches;
  std::vector<StoredJudgment> judgments;
  std::vector<TemplateVersion> templates;  ///< with new numbers, if later than their domain's latest
};

struct RemovedCounts {
  std::uint64_t searches = 0;
  std::uint64_t clicks = 0;
  std::uint64_t judgments = 0;

  friend bool operator==(const RemovedCounts&, const RemovedCounts&) = default;
  RemovedCounts& operator+=(const RemovedCounts& other) {
    searches += other.searches;
    clicks += other.clicks;
    judgments += other.judgments;
    return *this;
  }
};

/// The data that a server keeps, in SQLite or PostgreSQL, by concept. All functions of the parts, too, may be
/// called from any thread; what a function has acknowledged survives a crash of the process. No address is
/// ever stored. Functions for which feedback waits take an `end`, so that several calls can share one
/// deadline; those for which a client's request waits use Patience::request.
///
/// errors of all: try_again if the database is busy or the disk full, unavailable if it cannot be reached,
/// bad_data if its contents are invalid
class Store {
 public:
  Store(std::unique_ptr<SqlDatabase> database, std::string secret_file);

  StoredSearches searches;
  StoredClicks clicks;
  StoredJudgments judgments;
  TemplateVersions templates;
  SharedState shared;
  QueryPrivacy privacy;

  /// Adds everything in one transaction, or nothing. A search whose id is already there is not changed; a
  /// judgment replaces the judge's earlier one; a template version that is not later than the latest of its
  /// domain is left out.
  Result<void> add_batch(const StoreBatch& batch);
  /// Exports everything but secrets as JSON lines, `{"kind":"search"|"click"|"judgment"|"template", ...}`.
  Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& take);

  /// Removes searches and clicks from before a time. A judged search, whose lists are training data, stays
  /// but loses its slots. So does a search with a later click.
  Result<RemovedCounts> remove_before(UnixTime time);
  /// If the searches take more than this many bytes, removes the oldest until the rest takes less: first
  /// those without clicks, also for some that are to come, then those with clicks, and their clicks. Judged
  /// searches stay. Several servers may do so at once.
  ///
  /// errors: also try_again if the judged searches alone take more
  Result<RemovedCounts> keep_within(std::uint64_t max_bytes);
  /// The size of all stored searches in bytes.
  Result<std::uint64_t> bytes();
  /// Deletes a domain's clicks, judgments or both.
  Result<RemovedCounts> reset_feedback(std::string_view domain, bool with_clicks, bool with_judgments);

  /// Checks that the database answers and is not damaged.
  Result<void> check() { return database_->check(); }
  /// What is wrong with the database, as far as is known, for the log; empty if nothing is. Never waits.
  std::string trouble() const { return database_->trouble(); }
  /// If changes failed, tries one, so that trouble() ends with its cause even if nothing else is written.
  void try_again() { database_->try_again(); }
  /// A search that was shown: as searches.find(), but while the store has trouble, a search that is not there
  /// may be one that could not be stored.
  ///
  /// errors: also unavailable for a search that is not there while the store has trouble
  Result<std::optional<StoredSearch>> shown_search(std::string_view id, TimePoint end = TimePoint::max());
  /// From now on every wait is short, because the process is about to end.
  void hurry() { database_->hurry(); }

 private:
  std::unique_ptr<SqlDatabase> database_;
};

/// What an export has of one domain, or of all.
struct ExportedLines {
  StoreBatch batch;
  std::size_t foreign = 0;  ///< lines of other domains, left out
};

/// Reads what Store::export_lines() wrote, without clicks, because an export does not say whose they were.
///
/// in:     domain - the only one that is read; empty for all
/// errors: bad_data with file and line, or when the file has only other domains
/// cost:   memory for all data that is read
Result<ExportedLines> read_exported_lines(const std::string& path, const std::string& domain);

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
