#include "service/store/sql_retention.h"

#include <cstdint>

#include "service/store/sql_rows.h"

namespace metafuse::service::sql {
namespace {

/// Rows that one transaction removes, so that clicks and searches can be written in between.
constexpr std::int64_t kRemovedAtOnce = 2000;

Result<std::uint64_t> remove_in_parts(SqlDatabase& database, std::string_view sql, UnixTime time) {
  std::uint64_t removed = 0;
  for (;;) {
    std::int64_t rows = 0;
    auto written = database.write([&](SqlSession& session) -> Result<void> {
      auto part = count_rows(session, sql, {time, kRemovedAtOnce});
      if (part.has_error()) return part.error();
      rows = *part;
      return {};
    });
    if (written.has_error()) return written.error();
    removed += static_cast<std::uint64_t>(rows);
    if (rows < kRemovedAtOnce) return removed;
  }
}

}  // namespace

Result<RemovedCounts> remove_before(SqlDatabase& database, UnixTime time) {
  auto clicks = remove_in_parts(
      database,
      "DELETE FROM clicks WHERE search IN (SELECT search FROM clicks WHERE at < $1 LIMIT $2) RETURNING 1",
      time);
  if (clicks.has_error()) return clicks.error();
  auto emptied =
      remove_in_parts(database,
                      "UPDATE searches SET slots = '{}' WHERE id IN (SELECT id FROM searches WHERE "
                      "at < $1 AND slots <> '{}' LIMIT $2) RETURNING 1",
                      time);
  if (emptied.has_error()) return emptied.error();
  auto searches = remove_in_parts(
      database,
      "DELETE FROM searches WHERE id IN (SELECT id FROM searches WHERE at < $1 AND NOT EXISTS (SELECT 1 FROM "
      "judgments WHERE judgments.search = searches.id) AND NOT EXISTS (SELECT 1 FROM clicks WHERE "
      "clicks.search = searches.id) "
      "LIMIT $2) RETURNING 1",
      time);
  if (searches.has_error()) return searches.error();
  return RemovedCounts{*searches, *clicks, 0};
}

Result<RemovedCounts> reset_feedback(SqlDatabase& database, std::string_view domain, bool clicks,
                                     bool judgments) {
  RemovedCounts removed;
  auto written = database.write([&](SqlSession& session) -> Result<void> {
    removed = {};
    if (clicks) {
      auto rows = count_rows(session, "DELETE FROM clicks WHERE domain = $1 RETURNING 1", {domain});
      if (rows.has_error()) return rows.error();
      removed.clicks = static_cast<std::uint64_t>(*rows);
    }
    if (!judgments) return {};
    auto rows = count_rows(session, "DELETE FROM judgments WHERE domain = $1 RETURNING 1", {domain});
    if (rows.has_error()) return rows.error();
    removed.judgments = static_cast<std::uint64_t>(*rows);
    return {};
  });
  if (written.has_error()) return written.error();
  return removed;
}

}  // namespace metafuse::service::sql
