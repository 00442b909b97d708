#include "service/store/sql_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/text_file.h"
#include "service/base/digest.h"
#include "service/store/sql_rows.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kRowBytes = 300;  ///< of a search beyond its texts: id, digest, index entries
/// Rows that one transaction removes, so that clicks and searches can be written in between.
constexpr std::int64_t kRemovedAtOnce = 2000;
constexpr std::int64_t kRemovedForRoom = 100;
constexpr std::size_t kSecretDigits = 64;

Result<void> add_bytes(SqlSession& session, std::int64_t bytes) {
  return session.run("UPDATE meta SET value = CAST(CAST(value AS bigint) + $1 AS text) WHERE name = 'bytes'",
                     {bytes});
}

constexpr std::string_view kWrittenColumns =
    "id, domain, query, slots, at, model, challenger, lists, times, bytes, results";
constexpr std::size_t kFewestCopied = 8;  ///< searches; fewer are inserted one by one

/// A search with the texts of its row.
struct SearchRow {
  explicit SearchRow(const StoredSearch& from)
      : search(&from),
        slots(slots_text(from.slots)),
        lists(lists_text(from)),
        bytes(static_cast<std::int64_t>(slots.size() + lists.size() + kRowBytes)) {}

  /// Of kWrittenColumns; refers to this row.
  std::vector<SqlValue> values() const {
    return {search->id,
            search->domain,
            search->query,
            slots,
            search->at,
            search->model,
            search->challenger,
            lists,
            static_cast<std::int64_t>(search->times),
            bytes,
            static_cast<std::int64_t>(search->shown.size())};
  }

  const StoredSearch* search;
  std::string slots, lists;
  std::int64_t bytes;
};

Result<void> add_times(SqlSession& session, const StoredSearch& search) {
  if (search.times == 0) return {};
  return session.run("UPDATE searches SET times = times + $1 WHERE id = $2",
                     {static_cast<std::int64_t>(search.times), search.id});
}

Result<void> add_search(SqlSession& session, const SearchRow& row, std::int64_t& added) {
  static const std::string sql = fmt::format(
      "INSERT INTO searches ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO "
      "NOTHING RETURNING 1",
      kWrittenColumns);
  bool is_new = false;
  TRY_VOID(session.run(sql, row.values(), [&](SqlRow) -> Result<void> {
    is_new = true;
    return {};
  }));
  if (!is_new) return add_times(session, *row.search);
  added += row.bytes;
  return {};
}

/// Many at once, by way of a table of this connection's own.
Result<void> copy_searches(SqlSession& session, const std::vector<SearchRow>& rows, std::int64_t& added) {
  static const std::string insert = fmt::format(
      "INSERT INTO searches ({0}) SELECT {0} FROM new_searches ON CONFLICT (id) DO NOTHING RETURNING id",
      kWrittenColumns);
  TRY_VOID(
      session.run("CREATE TEMPORARY TABLE IF NOT EXISTS new_searches (LIKE searches INCLUDING DEFAULTS) ON "
                  "COMMIT DELETE ROWS"));
  std::vector<std::vector<SqlValue>> values;
  for (const SearchRow& row : rows) values.push_back(row.values());
  TRY_VOID(session.copy("new_searches", kWrittenColumns, values));
  std::set<std::string> inserted;
  TRY_VOID(session.run(insert, {}, [&](SqlRow row) -> Result<void> {
    inserted.insert(text_of(row[0]));
    return {};
  }));
  for (const SearchRow& row : rows) {
    // of one id that stands twice in the batch, the first counts as new
    if (inserted.erase(row.search->id) > 0)
      added += row.bytes;
    else
      TRY_VOID(add_times(session, *row.search));
  }
  return {};
}

/// Removes the rows that a statement (of $1 and $2, the most rows) deletes RETURNING their bytes, in parts.
Result<std::uint64_t> remove_in_parts(SqlDatabase& database, std::string_view sql, UnixTime time) {
  std::uint64_t removed = 0;
  for (;;) {
    std::int64_t rows = 0;
    const auto change = [&](SqlSession& session) -> Result<void> {
      rows = 0;
      std::int64_t bytes = 0;
      TRY_VOID(session.run(sql, {time, kRemovedAtOnce}, [&](SqlRow row) -> Result<void> {
        ++rows;
        bytes += integer_of(row[0]);
        return {};
      }));
      return bytes == 0 ? Result<void>() : add_bytes(session, -bytes);
    };
    TRY_VOID(database.write(change));
    removed += static_cast<std::uint64_t>(rows);
    if (rows < kRemovedAtOnce) return removed;
  }
}

bool is_secret(std::string_view text) {
  return text.size() == kSecretDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Makes a file that only its owner can read, and that is not there yet.
Result<void> make_secret_file(const std::string& path, const std::string& secret) {
  const auto problem = [&] {
    return fail(Code::no_input,
                fmt::format("{}: {}; the store's secret must be kept there", path, std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return problem();
  const std::string line = secret + "\n";
  const bool is_written =
      ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(file) == 0;
  const Error error = is_written ? Error{} : problem();
  ::close(file);
  if (is_written) return {};
  ::unlink(path.c_str());
  return error;
}

/// Hashes the documents of some searches after the id `last`, which goes on. Stored lists begin with their
/// documents (see lists_text()), so that those that are hashed already are passed over unread.
Result<void> hide_some_searches(SqlSession& session, const std::string& secret, std::string& last,
                                bool& has_more) {
  std::vector<std::pair<std::string, std::string>> changes;
  const std::string after = last;
  const auto take = [&](SqlRow row) -> Result<void> {
    last = text_of(row[0]);
    StoredSearch search;
    TRY_VOID(read_lists_text(text_of(row[1]), search));
    for (std::string& document : search.documents) document = hashed_document(secret, document);
    changes.emplace_back(last, lists_text(search));
    return {};
  };
  TRY_VOID(
      session.run("SELECT id, lists FROM searches WHERE id > $1 AND substr(lists, 1, 15) = "
                  "'{\"documents\":[\"' AND substr(lists, 16, 1) <> '#' ORDER BY id LIMIT 200",
                  {after}, take));
  for (const auto& [id, lists] : changes)
    TRY_VOID(session.run("UPDATE searches SET lists = $1 WHERE id = $2", {lists, id}));
  has_more = !changes.empty();
  return {};
}

/// The short digest by which a database knows the secret that lies outside of it.
std::string mark_of(const std::string& secret) {
  return sha256_hex("metafuse secret " + secret).substr(0, 16);
}

}  // namespace

SqlStore::SqlStore(std::unique_ptr<SqlDatabase> database, std::string secret_file)
    : database_(std::move(database)), secret_file_(std::move(secret_file)) {}

Result<void> SqlStore::add_searches(std::span<const StoredSearch> searches) {
  if (searches.empty()) return {};
  std::vector<SearchRow> rows(searches.begin(), searches.end());
  // in one order in all servers, so that none waits for another in a circle
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SearchRow& a, const SearchRow& b) { return a.search->id < b.search->id; });
  return database_->write([&](SqlSession& session) -> Result<void> {
    std::int64_t added = 0;
    if (session.has_copy() && rows.size() >= kFewestCopied) {
      TRY_VOID(copy_searches(session, rows, added));
    } else {
      for (const SearchRow& row : rows) TRY_VOID(add_search(session, row, added));
    }
    return added == 0 ? Result<void>() : add_bytes(session, added);
  });
}

Result<std::optional<StoredSearch>> SqlStore::find_search(std::string_view id, TimePoint end) {
  std::optional<StoredSearch> found;
  const auto look = [&](SqlSession& session) {
    return session.run(fmt::format("SELECT {} FROM searches WHERE id = $1", kSearchColumns), {stored_id(id)},
                       [&](SqlRow row) -> Result<void> {
                         TRY(found, read_search_row(row));
                         return {};
                       });
  };
  TRY_VOID(database_->read(look, {Patience::request, end}));
  return found;
}

Result<std::uint32_t> SqlStore::add_template_version(const TemplateVersion& version) {
  std::int64_t number = 0;
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.lock("templates"));
    number = 0;
    std::string text;
    TRY_VOID(session.run(
        "SELECT number, text FROM template_versions WHERE domain = $1 ORDER BY number DESC LIMIT 1",
        {version.domain}, [&](SqlRow row) -> Result<void> {
          number = integer_of(row[0]);
          text = text_of(row[1]);
          return {};
        }));
    if (number > 0 && text == version.text) return {};
    if (number >= kMaxTemplateVersions)
      return fail(Code::try_again, fmt::format("{}: {} versions are kept; export and remove old ones first",
                                               version.domain, number));
    ++number;
    return session.run(
        "INSERT INTO template_versions (domain, number, text, author, at) VALUES ($1, $2, $3, $4, $5)",
        {version.domain, number, version.text, version.author, version.at});
  };
  TRY_VOID(database_->write(change, Patience::request));
  return static_cast<std::uint32_t>(number);
}

Result<std::vector<TemplateVersion>> SqlStore::template_versions(std::string_view domain) {
  return read_rows<TemplateVersion>(*database_,
                                    "SELECT domain, number, '', author, at FROM template_versions "
                                    "WHERE domain = $1 ORDER BY number DESC",
                                    {domain}, read_template_row, Patience::request);
}

Result<std::optional<TemplateVersion>> SqlStore::find_template_version(std::string_view domain,
                                                                       std::uint32_t number) {
  const std::string sql =
      fmt::format("SELECT {} FROM template_versions WHERE domain = $1 AND number = $2", kTemplateColumns);
  TRY(auto rows, read_rows<TemplateVersion>(*database_, sql, {domain, std::int64_t{number}},
                                            read_template_row, Patience::request));
  if (rows.empty()) return std::optional<TemplateVersion>();
  return std::optional<TemplateVersion>(std::move(rows.front()));
}

Result<std::uint64_t> SqlStore::add_usage(std::string_view key, std::int64_t day, std::uint64_t amount) {
  std::int64_t sum = 0;
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("DELETE FROM key_usage WHERE api_key = $1 AND day < $2", {key, day}));
    return session.run(
        "INSERT INTO key_usage (api_key, day, amount) VALUES ($1, $2, $3) ON CONFLICT (api_key, day) "
        "DO UPDATE SET amount = key_usage.amount + excluded.amount RETURNING amount",
        {key, day, static_cast<std::int64_t>(amount)}, into(sum));
  };
  TRY_VOID(database_->write(change, Patience::request));
  return static_cast<std::uint64_t>(sum);
}

/// A random value that is made once and then stays.
Result<std::string> SqlStore::remembered(std::string_view name, Wait wait) {
  const std::string fresh = random_hex(kSecretDigits / 2);
  std::string value;
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                         {name, fresh}));
    return session.run("SELECT value FROM meta WHERE name = $1", {name}, into(value));
  };
  TRY_VOID(database_->write(change, wait));
  return value;
}

Result<std::string> SqlStore::secret() {
  const std::lock_guard lock(secret_mutex_);
  if (!secret_.empty()) return secret_;
  TRY(auto secret, secret_file_.empty() ? remembered("secret", Patience::background) : secret_in_file());
  secret_ = std::move(secret);
  return secret_;
}

/// The file is written before the database forgets the secret, so that a crash between loses nothing.
Result<std::string> SqlStore::secret_in_file() {
  std::string inside;
  std::string mark;
  const auto look = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("SELECT value FROM meta WHERE name = 'secret'", {}, into(inside)));
    return session.run("SELECT value FROM meta WHERE name = 'secret mark'", {}, into(mark));
  };
  TRY_VOID(database_->read(look));
  std::string secret;
  if (std::filesystem::exists(secret_file_)) {
    TRY(const auto text, read_text(secret_file_, std::size_t{4096}));
    secret = text.substr(0, text.find_last_not_of(" \n\r\t") + 1);
    if (!is_secret(secret))
      return fail(Code::bad_config, secret_file_ + ": holds no secret of 64 hexadecimal digits");
    if ((!mark.empty() && mark_of(secret) != mark) || (!inside.empty() && inside != secret))
      return fail(Code::bad_config, secret_file_ + ": the secret of another store; put this store's there");
  } else {
    if (inside.empty() && !mark.empty())
      return fail(Code::no_input,
                  secret_file_ + ": the store's secret is gone; restore the file from a backup");
    secret = inside.empty() ? random_hex(kSecretDigits / 2) : inside;
    TRY_VOID(make_secret_file(secret_file_, secret));
  }
  if (inside.empty() && !mark.empty()) return secret;
  const std::string new_mark = mark_of(secret);
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("DELETE FROM meta WHERE name = 'secret'"));
    return session.run(
        "INSERT INTO meta (name, value) VALUES ('secret mark', $1) ON CONFLICT (name) DO NOTHING",
        {new_mark});
  };
  TRY_VOID(database_->write(change));
  return secret;
}

Result<std::string> SqlStore::daily_salt(std::int64_t day, TimePoint end) {
  const std::string name = fmt::format("salt {}", day);
  std::string salt;
  TRY_VOID(database_->read(
      [&](SqlSession& session) {
        return session.run("SELECT value FROM meta WHERE name = $1", {name}, into(salt));
      },
      {Patience::request, end}));
  if (!salt.empty()) return salt;
  // Once a day: without a salt nobody can link its day's prefixes. Yesterday's stays for servers whose clocks
  // are behind, tomorrow's for those that are ahead.
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(
        session.run("DELETE FROM meta WHERE CASE WHEN name LIKE 'salt %' "
                    "THEN CAST(substr(name, 6) AS bigint) ELSE $1 END < $1",
                    {day - 1}));
    return session.run("UPDATE clicks SET prefix = '' WHERE day < $1 AND prefix <> ''", {day - 1});
  };
  TRY_VOID(database_->write(change, {Patience::request, end}));
  return remembered(name, {Patience::request, end});
}

Result<std::uint64_t> SqlStore::unify_queries(std::string_view domain, std::string_view plain_slot) {
  TRY(const std::string secret, this->secret());
  const std::string mark = fmt::format("identity {}", domain);
  const std::string done = plain_slot.empty() ? "-" : std::string(plain_slot);
  std::map<std::string, std::string> changes;
  const auto change = [&](SqlSession& session) -> Result<void> {
    changes.clear();
    std::string unified;
    TRY_VOID(session.run("SELECT value FROM meta WHERE name = $1", {mark}, into(unified)));
    if (unified == done) return {};
    const auto take = [&](SqlRow row) -> Result<void> {
      TRY(const auto slots, read_slots_text(text_of(row[1])));
      std::string now = query_digest(secret, domain, slots, plain_slot);
      if (now != text_of(row[0])) changes[text_of(row[0])] = std::move(now);
      return {};
    };
    TRY_VOID(session.run("SELECT DISTINCT query, slots FROM searches WHERE domain = $1 AND slots <> '{}'",
                         {domain}, take));
    for (const auto& [before, now] : changes) {
      TRY_VOID(session.run("UPDATE searches SET query = $1 WHERE query = $2 AND domain = $3",
                           {now, before, domain}));
      // the primary key holds one judgment per query, document and judge: the later one
      TRY_VOID(session.run(
          "INSERT INTO judgments (domain, query, document, judge, grade, search, at) "
          "SELECT domain, $1, document, judge, grade, search, at FROM judgments "
          "WHERE query = $2 AND domain = $3 ON CONFLICT (domain, query, document, judge) DO UPDATE SET "
          "grade = excluded.grade, search = excluded.search, at = excluded.at "
          "WHERE excluded.at > judgments.at",
          {now, before, domain}));
      TRY_VOID(session.run("DELETE FROM judgments WHERE query = $1 AND domain = $2", {before, domain}));
    }
    return session.run(
        "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET "
        "value = excluded.value",
        {mark, done});
  };
  TRY_VOID(database_->write(change, Patience::migration));
  return changes.size();
}

Result<void> SqlStore::hide_queries() {
  TRY(const std::string secret, this->secret());
  std::string last;
  for (bool has_more = true; has_more;) {
    const auto change = [&](SqlSession& session) {
      return hide_some_searches(session, secret, last, has_more);
    };
    TRY_VOID(database_->write(change, Patience::migration));
  }
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("UPDATE searches SET slots = '{}' WHERE slots <> '{}'"));
    std::vector<std::pair<std::string, std::string>> changes;
    TRY_VOID(session.run("SELECT DISTINCT document FROM judgments", {}, [&](SqlRow row) -> Result<void> {
      const std::string document = text_of(row[0]);
      if (std::string hashed = hashed_document(secret, document); hashed != document)
        changes.emplace_back(document, std::move(hashed));
      return {};
    }));
    for (const auto& [document, hashed] : changes) {
      // judged in both forms, when the setting was changed more than once
      TRY_VOID(
          session.run("DELETE FROM judgments WHERE document = $1 AND EXISTS (SELECT 1 FROM judgments AS o "
                      "WHERE o.document = $2 AND o.domain = judgments.domain AND "
                      "o.query = judgments.query AND o.judge = judgments.judge)",
                      {document, hashed}));
      TRY_VOID(session.run("UPDATE judgments SET document = $1 WHERE document = $2", {hashed, document}));
    }
    return {};
  };
  return database_->write(change, Patience::migration);
}

Result<RemovedCounts> SqlStore::remove_before(UnixTime time) {
  TRY(const auto clicks,
      remove_in_parts(
          *database_,
          "DELETE FROM clicks WHERE search IN (SELECT search FROM clicks WHERE at < $1 LIMIT $2) RETURNING 0",
          time));
  TRY_VOID(remove_in_parts(*database_,
                           "UPDATE searches SET slots = '{}' WHERE id IN (SELECT id FROM searches WHERE "
                           "at < $1 AND slots <> '{}' LIMIT $2) RETURNING 0",
                           time));
  TRY(const auto searches,
      remove_in_parts(
          *database_,
          "DELETE FROM searches WHERE id IN (SELECT id FROM searches WHERE at < $1 AND NOT EXISTS "
          "(SELECT 1 FROM judgments WHERE judgments.search = searches.id) AND NOT EXISTS "
          "(SELECT 1 FROM clicks WHERE substr(clicks.search, 1, 32) = searches.id) LIMIT $2) "
          "RETURNING bytes",
          time));
  return RemovedCounts{searches, clicks, 0};
}

Result<std::uint64_t> SqlStore::bytes() {
  std::int64_t bytes = 0;
  TRY_VOID(database_->read([&](SqlSession& session) {
    return session.run("SELECT CAST(value AS bigint) FROM meta WHERE name = 'bytes'", {}, into(bytes));
  }));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes));
}

Result<RemovedCounts> SqlStore::keep_within(std::uint64_t max_bytes) {
  RemovedCounts removed;
  for (;;) {
    TRY(const std::uint64_t held, bytes());
    if (held <= max_bytes) return removed;
    std::vector<std::string> ids;
    const auto change = [&](SqlSession& session) -> Result<void> {
      ids.clear();
      std::int64_t sum = 0;
      TRY_VOID(
          session.run("DELETE FROM searches WHERE id IN (SELECT id FROM searches WHERE NOT EXISTS "
                      "(SELECT 1 FROM judgments WHERE judgments.search = searches.id) "
                      "ORDER BY at, id LIMIT $1) RETURNING id, bytes",
                      {kRemovedForRoom}, [&](SqlRow row) -> Result<void> {
                        ids.push_back(text_of(row[0]));
                        sum += integer_of(row[1]);
                        return {};
                      }));
      for (const std::string& id : ids) {
        TRY(const auto clicks,
            count_rows(session, "DELETE FROM clicks WHERE substr(search, 1, 32) = $1 RETURNING 1", {id}));
        removed.clicks += static_cast<std::uint64_t>(clicks);
      }
      return add_bytes(session, -sum);
    };
    TRY_VOID(database_->write(change));
    if (ids.empty())
      return fail(
          Code::try_again,
          fmt::format("judged searches alone take {} bytes of the {} that store_max_bytes allows; raise "
                      "it, or reset judgments",
                      held, max_bytes));
    removed.searches += ids.size();
  }
}

Result<RemovedCounts> SqlStore::reset_feedback(std::string_view domain, bool clicks, bool judgments) {
  RemovedCounts removed;
  const auto change = [&](SqlSession& session) -> Result<void> {
    removed = {};
    if (clicks) {
      TRY(const auto rows, count_rows(session, "DELETE FROM clicks WHERE domain = $1 RETURNING 1", {domain}));
      removed.clicks = static_cast<std::uint64_t>(rows);
    }
    if (!judgments) return {};
    TRY(const auto rows,
        count_rows(session, "DELETE FROM judgments WHERE domain = $1 RETURNING 1", {domain}));
    removed.judgments = static_cast<std::uint64_t>(rows);
    return {};
  };
  TRY_VOID(database_->write(change));
  return removed;
}

Result<std::unique_ptr<Store>> make_sql_store(std::unique_ptr<SqlDatabase> database, StoreMode mode,
                                              std::string secret_file) {
  TRY_VOID(prepare_schema(*database, mode));
  return std::unique_ptr<Store>(std::make_unique<SqlStore>(std::move(database), std::move(secret_file)));
}

}  // namespace metafuse::service
