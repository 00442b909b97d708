#include "fetchers/engines/sql/sqlite_file.h"

#include <string>
#include <vector>

#include "core/sqlite_database.h"
#include "fetchers/engines/sql/database.h"

namespace metafuse::fetchers {

Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline) {
  TRY(auto database, SqliteDatabase::open(access.database, {}));
  database.set_deadline(&deadline);
  auto statement = database.prepare(access.statement);
  if (!statement) return fail(Code::bad_config, "query_str: " + statement.error().text);
  statement->bind_named(":query", query);
  statement->bind_named(":wildcard", "%" + std::string(query) + "%");
  // A statement without :offset also returns the rows before the window, which are skipped here.
  const int skipped = statement->bind_named(":offset", offset) ? 0 : offset;
  statement->bind_named(":limit", std::int64_t{depth} + skipped);
  HitRows rows(access.url_format, depth, skipped);
  while (!rows.is_full()) {
    TRY(const auto row, statement->next());
    if (!row) break;
    // Names from before the first step may become invalid after it.
    std::vector<std::string_view> columns, values;
    for (int i = 0; i < row->columns(); ++i) {
      columns.push_back(row->name(i));
      values.push_back(row->text(i));
    }
    rows.add(columns, values);
  }
  return rows.take();
}

}  // namespace metafuse::fetchers
