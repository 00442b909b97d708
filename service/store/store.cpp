#include "service/store/store.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "service/store/tables.h"

namespace metafuse::service {
namespace {

/// Rows per transaction, so that clicks and searches can be written in between.
constexpr std::int64_t kRowsAtOnce = 2000;
constexpr std::int64_t kRemovedForRoom = 100;
/// Of a full store this share is emptied at once, because each time all older searches that stay are passed.
constexpr std::uint64_t kSpareShare = 64;

/// Work on the rows of a table between two times, both inclusive; returns how many rows it removed.
using PartWork = std::function<Result<std::size_t>(SqlSession& session, UnixTime first, UnixTime last)>;

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
    std::size_t done = 0;
    UnixTime last = 0;
    const auto change = [&](SqlSession& session) -> Result<void> {
      done = 0;
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
    removed += done;
    if (rows < kRowsAtOnce) return removed;
    first = last + 1;
  }
}

Result<std::size_t> remove_clicks(SqlSession& session, UnixTime first, UnixTime last) {
  return count_rows(
      session,
      "DELETE FROM clicks WHERE search IN (SELECT search FROM clicks WHERE at >= $1 AND at <= $2) "
      "RETURNING 1",
      {first, last});
}

/// Removes searches; those that were judged or clicked stay, but lose their words. SQLite uses the index of
/// clicks by search only for a value without a column's affinity, hence substr() on both sides.
Result<std::size_t> remove_searches(SqlSession& session, UnixTime first, UnixTime last) {
  TRY_VOID(lock_searches(session));
  TRY(const auto sizes,
      rows_of<std::int64_t>(
          session,
          "DELETE FROM searches WHERE at >= $1 AND at <= $2 AND NOT EXISTS "
          "(SELECT 1 FROM judgments WHERE judgments.search = searches.id) AND NOT EXISTS "
          "(SELECT 1 FROM clicks WHERE substr(clicks.search, 1, 32) = substr(searches.id, 1, 32)) "
          "RETURNING bytes",
          {first, last}));
  TRY_VOID(session.run("UPDATE searches SET slots = '{}' WHERE at >= $1 AND at <= $2 AND slots <> '{}'",
                       {first, last}));
  const std::int64_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (bytes > 0) TRY_VOID(add_bytes(session, -bytes));
  return sizes.size();
}

}  // namespace

Store::Store(std::unique_ptr<SqlDatabase> database, std::string secret_file)
    : searches(*database),
      clicks(*database),
      judgments(*database),
      templates(*database),
      shared(*database),
      privacy(*database, std::move(secret_file)),
      database_(std::move(database)) {}

Result<void> Store::add_batch(const StoreBatch& batch) {
  return database_->write([&](SqlSession& session) -> Result<void> {
    TRY_VOID(insert_searches(session, batch.searches, false));
    TRY_VOID(write_judgments(session, batch.judgments));
    return add_later_templates(session, batch.templates);
  });
}

Result<std::optional<StoredSearch>> Store::shown_search(std::string_view id, TimePoint end) {
  TRY(auto found, searches.find(id, end));
  if (!found && !trouble().empty())
    return fail(Code::unavailable, "the store takes no searches now; send this again later");
  return found;
}

Result<RemovedCounts> Store::remove_before(UnixTime time) {
  RemovedCounts removed;
  TRY(removed.clicks, remove_in_parts(*database_, "clicks", time, remove_clicks));
  TRY(removed.searches, remove_in_parts(*database_, "searches", time, remove_searches));
  return removed;
}

namespace {

Result<std::uint64_t> bytes_held(SqlSession& session) {
  TRY(const auto bytes,
      first_row<std::int64_t>(session, "SELECT CAST(value AS bigint) FROM meta WHERE name = 'bytes'"));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes));
}

/// Removes the $2 oldest searches without judgments since $1. SQLite uses the index of clicks as in
/// remove_searches().
std::string removal_of_oldest(bool takes_clicked) {
  return fmt::format(
      "DELETE FROM searches WHERE id IN (SELECT id FROM searches WHERE at >= $1 AND NOT EXISTS "
      "(SELECT 1 FROM judgments WHERE judgments.search = searches.id) {}"
      "ORDER BY at, id LIMIT $2) RETURNING id, bytes, at",
      takes_clicked ? ""
                    : "AND NOT EXISTS (SELECT 1 FROM clicks WHERE "
                      "substr(clicks.search, 1, 32) = substr(searches.id, 1, 32)) ");
}

/// What was removed to make room.
struct Room {
  RemovedCounts removed;
  std::uint64_t held = 0;                                ///< bytes of all searches before the last removal
  UnixTime last = std::numeric_limits<UnixTime>::min();  ///< of the latest search that was removed last
};

/// Removes some of the oldest searches since a time, if all searches take more than `wanted` bytes.
Result<Room> remove_oldest(SqlSession& session, std::uint64_t wanted, bool takes_clicked, UnixTime from) {
  Room part;
  // one server at a time: another one's removals would look as if nothing were left
  TRY_VOID(session.lock("room"));
  TRY_VOID(lock_searches(session));
  TRY(part.held, bytes_held(session));
  if (part.held <= wanted) return part;
  std::vector<std::string> ids;
  std::int64_t sum = 0;
  TRY_VOID(
      session.run(removal_of_oldest(takes_clicked), {from, kRemovedForRoom}, [&](SqlRow row) -> Result<void> {
        ids.push_back(text_of(row[0]));
        sum += integer_of(row[1]);
        part.last = std::max(part.last, integer_of(row[2]));
        return {};
      }));
  part.removed.searches = ids.size();
  for (const std::string& id : ids) {
    TRY(const auto own,
        count_rows(session, "DELETE FROM clicks WHERE substr(search, 1, 32) = $1 RETURNING 1", {id}));
    part.removed.clicks += own;
  }
  TRY_VOID(add_bytes(session, -sum));
  return part;
}

/// Removes the oldest searches until all take at most `wanted` bytes, or none is left that may go. Every part
/// begins where the previous one ended, so that what stays is passed only once.
Result<Room> make_room(SqlDatabase& database, std::uint64_t wanted, bool takes_clicked) {
  Room room;
  Room part;
  do {
    TRY(part, database.write_value([&](SqlSession& session) {
      return remove_oldest(session, wanted, takes_clicked, part.last);
    }));
    room.removed += part.removed;
    room.held = part.held;
  } while (part.removed.searches > 0);
  return room;
}

}  // namespace

Result<std::uint64_t> Store::bytes() {
  return database_->read_value(bytes_held);
}

Result<RemovedCounts> Store::keep_within(std::uint64_t max_bytes) {
  TRY(const std::uint64_t held, bytes());
  if (held <= max_bytes) return RemovedCounts();
  // searches that nobody clicked go first, so that no flood of searches removes what others taught
  TRY(Room room, make_room(*database_, max_bytes - max_bytes / kSpareShare, false));
  RemovedCounts removed = room.removed;
  if (room.held > max_bytes) {
    TRY(room, make_room(*database_, max_bytes, true));
    removed += room.removed;
  }
  if (room.held <= max_bytes) return removed;
  return fail(Code::try_again,
              fmt::format("judged searches alone take {} bytes of the {} that store_max_bytes allows; raise "
                          "it, or reset judgments",
                          room.held, max_bytes));
}

Result<RemovedCounts> Store::reset_feedback(std::string_view domain, bool with_clicks, bool with_judgments) {
  const auto change = [&](SqlSession& session) -> Result<RemovedCounts> {
    RemovedCounts removed;
    if (with_clicks) {
      TRY(removed.clicks, count_rows(session, "DELETE FROM clicks WHERE domain = $1 RETURNING 1", {domain}));
    }
    if (with_judgments) {
      TRY(removed.judgments,
          count_rows(session, "DELETE FROM judgments WHERE domain = $1 RETURNING 1", {domain}));
    }
    return removed;
  };
  return database_->write_value(change);
}

bool is_postgres_url(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

Result<std::unique_ptr<Store>> open_store(const std::string& location, StoreMode mode,
                                          const std::string& secret_file) {
  const bool is_postgres = is_postgres_url(location);
  TRY(auto database, is_postgres ? open_postgres(location) : open_sqlite(location, mode));
  TRY_VOID(prepare_schema(*database, mode));
  const std::string beside = is_postgres ? std::string() : location + ".secret";
  return std::make_unique<Store>(std::move(database), secret_file.empty() ? beside : secret_file);
}

}  // namespace metafuse::service
