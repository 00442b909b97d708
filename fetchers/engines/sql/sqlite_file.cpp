#include "fetchers/engines/sql/sqlite_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/sqlite_database.h"
#include "fetchers/engines/sql/database.h"
#include "fetchers/engines/sql/sql_readers.h"

namespace metafuse::fetchers {

void read_sqlite(EngineBlock& block) {
  auto& access = block.engine.access.emplace<SqliteAccess>();
  access.database = block.required_path("database");
  access.statement = block.map.take_required_string("query_str");
  block.take("url_format", access.url_format);
  block.map.take("limit");
  const YamlNode* node = block.map.take("query_str");
  if (node == nullptr || !node->is_scalar()) return;
  const std::string& text = access.statement;
  const std::string_view begin =
      std::string_view(text).substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (!begin.starts_with("SELECT") && !begin.starts_with("select") && !begin.starts_with("WITH") &&
      !begin.starts_with("with"))
    block.diagnostics.error(node->place, "query_str must be a SELECT");
  if (text.find(":query") == std::string::npos && text.find(":wildcard") == std::string::npos)
    block.diagnostics.error(node->place, "query_str must contain :query or :wildcard");
}

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
