#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

// Conversions between rows of the store's tables and values.

namespace metafuse::service {

/// The columns that each of the readers below expects, in order.
inline constexpr std::string_view kSearchColumns =
    "id, domain, query, slots, at, model, challenger, lists, times";
inline constexpr std::string_view kClickColumns =
    "search, position, domain, team, at, prefix, api_key, weight";
inline constexpr std::string_view kJudgmentColumns = "domain, query, document, judge, grade, search, at";
inline constexpr std::string_view kTemplateColumns = "domain, number, text, author, at";

/// errors: bad_data if the lists or slots are damaged
Result<StoredSearch> read_search_row(SqlRow row);
Click read_click_row(SqlRow row);
StoredJudgment read_judgment_row(SqlRow row);
TemplateVersion read_template_row(SqlRow row);

/// Stores a judgment, which replaces the judge's earlier one.
Result<void> write_judgment(SqlSession& session, const StoredJudgment& judgment);

/// Callbacks that store a row's first cell.
TakeRow into(std::string& text);
TakeRow into(std::int64_t& value);
TakeRow into(double& value);

/// How many rows a statement returns.
Result<std::int64_t> count_rows(SqlSession& session, std::string_view sql,
                                std::initializer_list<SqlValue> values);

/// Runs a statement and returns all of its rows.
template <class Row>
Result<std::vector<Row>> read_rows(SqlDatabase& database, std::string_view sql,
                                   std::initializer_list<SqlValue> values, Row (*read)(SqlRow),
                                   Wait wait = {}) {
  std::vector<Row> rows;
  TRY_VOID(database.read(
      [&](SqlSession& session) {
        rows.clear();
        return session.run(sql, values, [&](SqlRow row) -> Result<void> {
          rows.push_back(read(row));
          return {};
        });
      },
      wait));
  return rows;
}

}  // namespace metafuse::service
