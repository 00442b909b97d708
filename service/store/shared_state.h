#pragma once

#include <atomic>
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
#include "service/store/sql_database.h"
#include "service/store/stored_search.h"

// What several servers of one store share: files and their earlier versions, tasks that only one server
// should do, the use of keys, and a clock.

namespace metafuse::service {

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

class SharedState {
 public:
  explicit SharedState(SqlDatabase& database) : database_(database) {}

  /// The files with a change number above `after`, the earliest change first.
  Result<std::vector<SharedFile>> files(std::int64_t after);
  /// Makes all of the changes, or none if one of the files is no longer the one that the caller knows. If
  /// several callers change the same text, one of them succeeds.
  ///
  /// out: whether they were made
  Result<bool> change_files(std::span<const SharedChange> changes);
  /// Forgets that files were removed, if that was more than so many changes ago. A server that was away for
  /// longer sends its copies again.
  ///
  /// in: start - of the files' names
  Result<void> forget_removed(std::string_view start, std::int64_t changes);
  /// Calls back after a change of shared files by this server or another one.
  ///
  /// out: nullptr if no other server can change them
  std::unique_ptr<Listener> listen(std::function<void()> on_change);

  /// The database's clock, in milliseconds since 1970.
  Result<std::int64_t> milliseconds_now();
  /// Takes or renews a task for `holder` for this many seconds, by the database's clock. That succeeds if
  /// nobody has the task, its holder's time is over, or `holder` already has it.
  ///
  /// out: whether `holder` has the task
  Result<bool> hold_task(std::string_view task, std::string_view holder, std::int64_t seconds);
  /// Adds to a key's use on a day and returns the sum. Days are counted from 1970; earlier days are deleted.
  Result<std::uint64_t> add_usage(std::string_view key, std::int64_t day, std::uint64_t amount);

 private:
  SqlDatabase& database_;
};

/// One saved text of a domain's template file, or of its curation (under curation_name()).
struct TemplateVersion {
  std::string domain;
  std::uint32_t number = 0;  ///< 1, 2, 3 ... within the domain
  std::string text;          ///< empty in results of TemplateVersions::all()
  std::string author;        ///< name of the API key
  UnixTime at = 0;

  friend bool operator==(const TemplateVersion&, const TemplateVersion&) = default;
};

/// The newest so many versions of a domain are kept.
inline constexpr std::uint32_t kKeptTemplateVersions = 10000;

/// The number that a text gives, or 0 if no version can have it.
std::uint32_t version_number(std::string_view text);

/// The name under which the versions of a domain's curation are stored beside those of its templates. It
/// cannot be a domain's name.
std::string curation_name(std::string_view domain);

class TemplateVersions {
 public:
  explicit TemplateVersions(SqlDatabase& database) : database_(database) {}

  /// Adds a version of a domain's templates, and removes the oldest beyond kKeptTemplateVersions.
  ///
  /// in:     version - with number 0, or the number that it must get
  /// out:    its number, or that of the latest version if that has the same text
  /// errors: try_again if another server was faster
  Result<std::uint32_t> add(const TemplateVersion& version);
  /// A domain's versions without their texts, the latest first.
  Result<std::vector<TemplateVersion>> all(std::string_view domain);
  Result<std::optional<TemplateVersion>> find(std::string_view domain, std::uint32_t number);

 private:
  SqlDatabase& database_;
};

/// The time of the store's database. All servers of one store use it instead of their machines' clocks, for
/// the days of salts and quotas and the ages of searches and clicks. The database is asked from time to time;
/// in between, and while it is unreachable, the steady clock continues from its last answer. Safe from
/// any thread.
class SharedClock {
 public:
  /// `shared` and `clock` must outlive it. Until the first adjust() it gives the machine's time.
  SharedClock(SharedState& shared, const Clock& clock);

  /// Asks the database for its time.
  ///
  /// errors: those of the store; then the time continues as before
  Result<void> adjust();
  /// Seconds since 1970.
  UnixTime now() const;
  /// By how many milliseconds the machine's clock is ahead of the database's, as of the last adjust().
  std::int64_t machine_ahead_ms() const { return machine_ahead_ms_; }

 private:
  std::int64_t steady_ms() const;

  SharedState& shared_;
  const Clock& clock_;
  std::atomic<std::int64_t> shift_ms_;  ///< offset from the steady clock to the time since 1970
  std::atomic<std::int64_t> machine_ahead_ms_{0};
};

/// The machine's time in milliseconds since 1970.
std::int64_t machine_milliseconds();

}  // namespace metafuse::service
