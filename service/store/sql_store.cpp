#include "service/store/sql_store.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "service/base/digest.h"
#include "service/store/sql_rows.h"

namespace metafuse::service {
namespace {

/// Size of a search's row without its texts: id, digest, index entries.
constexpr std::size_t kRowBytes = 300;
/// Rows per transaction, so that clicks and searches can be written in between.
constexpr std::int64_t kRowsAtOnce = 2000;
constexpr std::int64_t kRemovedForRoom = 100;

Result<void> add_bytes(SqlSession& session, std::int64_t bytes) {
  return session.run("UPDATE meta SET value = CAST(CAST(value AS bigint) + $1 AS text) WHERE name = 'bytes'",
                     {bytes});
}

constexpr std::string_view kWrittenColumns =
    "id, domain, query, slots, at, model, challenger, lists, times, bytes, results";
constexpr std::size_t kFewestCopied = 8;  ///< fewer searches than this are inserted one by one

/// A search with the serialised texts of its row.
struct SearchRow {
  explicit SearchRow(const StoredSearch& from)
      : search(&from),
        slots(slots_text(from.slots)),
        lists(lists_text(from)),
        bytes(static_cast<std::int64_t>(slots.size() + lists.size() + kRowBytes)) {}

  /// The values of kWrittenColumns, which refer to this row.
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

/// Inserts a search, unless its id is already there.
///
/// out: whether it was new
Result<bool> insert_search(SqlSession& session, const SearchRow& row, std::int64_t& added) {
  static const std::string sql = fmt::format(
      "INSERT INTO searches ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO "
      "NOTHING RETURNING 1",
      kWrittenColumns);
  bool is_new = false;
  TRY_VOID(session.run(sql, row.values(), [&](SqlRow) -> Result<void> {
    is_new = true;
    return {};
  }));
  if (is_new) added += row.bytes;
  return is_new;
}

Result<void> add_search(SqlSession& session, const SearchRow& row, std::int64_t& added) {
  TRY(const bool is_new, insert_search(session, row, added));
  return is_new ? Result<void>() : add_times(session, *row.search);
}

/// Inserts many searches at once, through a temporary table.
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
    // if an id occurs twice in the batch, the first one counts as new
    if (inserted.erase(row.search->id) > 0)
      added += row.bytes;
    else
      TRY_VOID(add_times(session, *row.search));
  }
  return {};
}

/// All servers write rows in this order, so that their transactions cannot deadlock.
bool by_id(const StoredSearch* a, const StoredSearch* b) {
  return a->id < b->id;
}

/// out: the version's number
Result<std::uint32_t> add_template(SqlSession& session, const TemplateVersion& version) {
  TRY_VOID(session.lock("templates"));
  std::int64_t number = 0;
  std::string text;
  TRY_VOID(
      session.run("SELECT number, text FROM template_versions WHERE domain = $1 ORDER BY number DESC LIMIT 1",
                  {version.domain}, [&](SqlRow row) -> Result<void> {
                    number = integer_of(row[0]);
                    text = text_of(row[1]);
                    return {};
                  }));
  if (number > 0 && text == version.text) return static_cast<std::uint32_t>(number);
  if (number >= kMaxTemplateVersions)
    return fail(Code::try_again, fmt::format("{}: {} versions are kept; export and remove old ones first",
                                             version.domain, number));
  ++number;
  TRY_VOID(session.run(
      "INSERT INTO template_versions (domain, number, text, author, at) VALUES ($1, $2, $3, $4, $5)",
      {version.domain, number, version.text, version.author, version.at}));
  return static_cast<std::uint32_t>(number);
}

/// Work on the rows of a table between two times, both inclusive; returns how many rows it removed.
using PartWork = std::function<Result<std::int64_t>(SqlSession& session, UnixTime first, UnixTime last)>;

/// Applies `work` to a table's rows before a time, the oldest first, in parts of one transaction each. Every
/// part begins where the previous one ended, so that remaining rows, and deleted ones that the database has
/// not cleaned up yet, are visited only once.
///
/// cost: linear in the rows
Result<std::uint64_t> remove_in_parts(SqlDatabase& database, std::string_view table, UnixTime time,
                                      const PartWork& work) {
  const std::string next_part = fmt::format(
      "SELECT count(*), coalesce(max(at), 0) FROM "
      "(SELECT at FROM {} WHERE at >= $1 AND at < $2 ORDER BY at LIMIT $3) AS part",
      table);
  std::uint64_t removed = 0;
  for (UnixTime first = std::numeric_limits<UnixTime>::min();;) {
    std::int64_t rows = 0;
    std::int64_t done = 0;
    UnixTime last = 0;
    const auto change = [&](SqlSession& session) -> Result<void> {
      TRY_VOID(session.run(next_part, {first, time, kRowsAtOnce}, [&](SqlRow row) -> Result<void> {
        rows = integer_of(row[0]);
        last = integer_of(row[1]);
        return {};
      }));
      if (rows == 0) return {};
      TRY(done, work(session, first, last));
      return {};
    };
    TRY_VOID(database.write(change));
    removed += static_cast<std::uint64_t>(done);
    if (rows < kRowsAtOnce) return removed;
    first = last + 1;
  }
}

Result<std::int64_t> remove_clicks(SqlSession& session, UnixTime first, UnixTime last) {
  return count_rows(
      session,
      "DELETE FROM clicks WHERE search IN (SELECT search FROM clicks WHERE at >= $1 AND at <= $2) "
      "RETURNING 1",
      {first, last});
}

/// Removes searches; those that were judged or clicked stay, but lose their words. SQLite uses the index of
/// clicks by search only for a value without a column's affinity, hence substr() on both sides.
Result<std::int64_t> remove_searches(SqlSession& session, UnixTime first, UnixTime last) {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  TRY_VOID(
      session.run("DELETE FROM searches WHERE at >= $1 AND at <= $2 AND NOT EXISTS "
                  "(SELECT 1 FROM judgments WHERE judgments.search = searches.id) AND NOT EXISTS "
                  "(SELECT 1 FROM clicks WHERE substr(clicks.search, 1, 32) = substr(searches.id, 1, 32)) "
                  "RETURNING bytes",
                  {first, last}, [&](SqlRow row) -> Result<void> {
                    ++rows;
                    bytes += integer_of(row[0]);
                    return {};
                  }));
  TRY_VOID(session.run("UPDATE searches SET slots = '{}' WHERE at >= $1 AND at <= $2 AND slots <> '{}'",
                       {first, last}));
  if (bytes > 0) TRY_VOID(add_bytes(session, -bytes));
  return rows;
}

}  // namespace

SqlStore::SqlStore(std::unique_ptr<SqlDatabase> database, std::string secret_file)
    : database_(std::move(database)), secret_file_(std::move(secret_file)) {}

Result<void> SqlStore::add_searches(std::span<const StoredSearch> searches) {
  if (searches.empty()) return {};
  std::vector<SearchRow> rows(searches.begin(), searches.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SearchRow& a, const SearchRow& b) { return by_id(a.search, b.search); });
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
  std::uint32_t number = 0;
  const auto change = [&](SqlSession& session) -> Result<void> {
    TRY(number, add_template(session, version));
    return {};
  };
  TRY_VOID(database_->write(change, Patience::request));
  return number;
}

Result<void> SqlStore::add_batch(const StoreBatch& batch) {
  std::vector<const StoredSearch*> searches;
  for (const StoredSearch& search : batch.searches) searches.push_back(&search);
  std::stable_sort(searches.begin(), searches.end(), by_id);
  return database_->write([&](SqlSession& session) -> Result<void> {
    std::int64_t added = 0;
    for (const StoredSearch* search : searches) TRY_VOID(insert_search(session, SearchRow(*search), added));
    if (added > 0) TRY_VOID(add_bytes(session, added));
    for (const StoredJudgment& judgment : batch.judgments) TRY_VOID(write_judgment(session, judgment));
    for (const TemplateVersion& version : batch.templates) TRY_VOID(add_template(session, version));
    return {};
  });
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

Result<RemovedCounts> SqlStore::remove_before(UnixTime time) {
  TRY(const auto clicks, remove_in_parts(*database_, "clicks", time, remove_clicks));
  TRY(const auto searches, remove_in_parts(*database_, "searches", time, remove_searches));
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
