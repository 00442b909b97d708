#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/result.h"
#include "service/store/searches.h"
#include "service/store/shared_state.h"
#include "service/store/sql_database.h"

// The tables of the store, and conversions between their rows and values. Only the store includes this.

namespace metafuse::service {

/// Creates the store's tables if there are none, and refuses those of another version.
///
/// in:     mode - in mode `read` nothing is created
/// errors: bad_data: not a store of ours, or one of another version
Result<void> prepare_schema(SqlDatabase& database, StoreMode mode);

/// A member of a stored struct: the column that holds it, and its name in exported lines.
template <class Row, class Value>
struct Field {
  std::string_view column;
  Value Row::*member;
  std::string_view key = column;  ///< empty: it is not exported
  bool is_optional = false;       ///< lines without it are imported, too
};

/// clang-16 does not deduce the arguments of aggregates by itself.
template <class Row, class Value, class... Rest>
Field(std::string_view, Value Row::*, Rest...) -> Field<Row, Value>;

/// The table of a stored struct: its name, the columns of its key, the kind of its exported lines, and its
/// fields in the order of columns and lines, those of the key first.
template <class Row>
struct Table;

/// A search's lists and slots are texts in the table, so it has no fields here.
template <>
struct Table<StoredSearch> {
  static constexpr std::string_view kName = "searches";
  static constexpr std::string_view kKey = "id";
};

template <>
struct Table<Click> {
  static constexpr std::string_view kName = "clicks";
  static constexpr std::string_view kKey = "search, position";
  static constexpr std::string_view kKind = "click";
  /// The hash of the address prefix is not exported, because readers of the export have no need for it.
  static constexpr std::tuple kFields{
      Field{"search", &Click::search},
      Field{"position", &Click::position},
      Field{"domain", &Click::domain},
      Field{"team", &Click::team, ""},
      Field{"at", &Click::at},
      Field{"prefix", &Click::prefix, ""},
      Field{"api_key", &Click::key, "key"},
      Field{"weight", &Click::weight},
  };
};

template <>
struct Table<StoredJudgment> {
  static constexpr std::string_view kName = "judgments";
  static constexpr std::string_view kKey = "domain, query, document, judge";
  static constexpr std::string_view kKind = "judgment";
  static constexpr std::tuple kFields{
      Field{"domain", &StoredJudgment::domain},
      Field{"query", &StoredJudgment::query},
      Field{"document", &StoredJudgment::document},
      Field{"judge", &StoredJudgment::judge},
      Field{"grade", &StoredJudgment::grade},
      Field{"search", &StoredJudgment::search},
      Field{"at", &StoredJudgment::at},
  };
};

template <>
struct Table<TemplateVersion> {
  static constexpr std::string_view kName = "template_versions";
  static constexpr std::string_view kKey = "domain, number";
  static constexpr std::string_view kKind = "template";
  static constexpr std::tuple kFields{
      Field{"domain", &TemplateVersion::domain}, Field{"number", &TemplateVersion::number, "number", true},
      Field{"text", &TemplateVersion::text},     Field{"author", &TemplateVersion::author},
      Field{"at", &TemplateVersion::at},
  };
};

/// Calls `visit` with each field of a stored struct.
template <class Row, class Visit>
void for_each_field(const Visit& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, Table<Row>::kFields);
}

/// "a, b, c": the columns that read_row() expects.
template <class Row>
std::string columns_of() {
  std::string out;
  for_each_field<Row>([&](const auto& field) { (out += out.empty() ? "" : ", ") += field.column; });
  return out;
}
template <>
std::string columns_of<StoredSearch>();

template <class Value>
void set_value(Value& value, const SqlCell& cell) {
  if constexpr (std::is_same_v<Value, std::string>)
    value = text_of(cell);
  else if constexpr (std::is_floating_point_v<Value>)
    value = number_of(cell);
  else
    value = static_cast<Value>(integer_of(cell));
}

/// A row as a value: of a text or a number, the first cell.
///
/// errors: bad_data if a search's lists or slots are damaged
template <class Row>
Result<Row> read_row(SqlRow row) {
  Row out;
  if constexpr (std::is_class_v<Row> && !std::is_same_v<Row, std::string>) {
    std::size_t i = 0;
    for_each_field<Row>([&](const auto& field) { set_value(out.*field.member, row[i++]); });
  } else {
    set_value(out, row[0]);
  }
  return out;
}
template <>
Result<StoredSearch> read_row(SqlRow row);

/// The values of a row, which refer to it.
template <class Row>
std::vector<SqlValue> values_of(const Row& row) {
  std::vector<SqlValue> out;
  for_each_field<Row>([&](const auto& field) {
    const auto& member = row.*field.member;
    using Value = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<Value, std::string> || std::is_floating_point_v<Value>)
      out.emplace_back(member);
    else
      out.emplace_back(static_cast<std::int64_t>(member));
  });
  return out;
}

/// "INSERT INTO table (columns) VALUES ($1, ...)"
std::string insert_text(std::string_view table, std::string_view columns);

/// Inserts a row.
///
/// in: otherwise - what follows in the statement: what to do if its key is there
template <class Row>
Result<void> insert_row(SqlSession& session, const Row& row, std::string_view otherwise = "") {
  return session.run(insert_text(Table<Row>::kName, columns_of<Row>()) + std::string(otherwise),
                     values_of(row), {});
}

/// All rows that a statement returns.
template <class Row>
Result<std::vector<Row>> rows_of(SqlSession& session, std::string_view sql,
                                 std::initializer_list<SqlValue> values = {},
                                 Result<Row> (*read)(SqlRow) = read_row<Row>) {
  std::vector<Row> rows;
  TRY_VOID(session.run(sql, values, [&](SqlRow row) -> Result<void> {
    TRY(auto value, read(row));
    rows.push_back(std::move(value));
    return {};
  }));
  return rows;
}

/// The first of the rows, or nothing.
template <class Row>
Result<std::optional<Row>> find_row(SqlSession& session, std::string_view sql,
                                    std::initializer_list<SqlValue> values = {}) {
  TRY(auto rows, rows_of<Row>(session, sql, values));
  return rows.empty() ? std::optional<Row>() : std::optional<Row>(std::move(rows.front()));
}

/// The first of the rows, or an empty value.
template <class Row>
Result<Row> first_row(SqlSession& session, std::string_view sql,
                      std::initializer_list<SqlValue> values = {}) {
  TRY(auto row, find_row<Row>(session, sql, values));
  return std::move(row).value_or(Row());
}

/// How many rows a statement returns.
Result<std::size_t> count_rows(SqlSession& session, std::string_view sql,
                               std::initializer_list<SqlValue> values);

/// As rows_of(), in a transaction of its own.
template <class Row>
Result<std::vector<Row>> read_rows(SqlDatabase& database, std::string_view sql,
                                   std::initializer_list<SqlValue> values, Wait wait = {},
                                   Result<Row> (*read)(SqlRow) = read_row<Row>) {
  return database.read_value([&](SqlSession& session) { return rows_of<Row>(session, sql, values, read); },
                             wait);
}

/// To be called by a transaction before it counts or removes searches. Counting passes them in the order of
/// their ids and removing in that of their times, so that two transactions could wait for each other.
Result<void> lock_searches(SqlSession& session);
/// Inserts searches. So that transactions of several servers cannot deadlock, each inserts all that are new
/// before it changes any that are there, both in the order of their ids.
///
/// in: adds_times - whether `times` is added for a search whose id is already there
Result<void> insert_searches(SqlSession& session, std::span<const StoredSearch> searches, bool adds_times);
/// Adds to the size of all stored searches.
Result<void> add_bytes(SqlSession& session, std::int64_t bytes);
/// Stores judgments, each of which replaces the judge's earlier one.
Result<void> write_judgments(SqlSession& session, std::span<const StoredJudgment> judgments);
/// As TemplateVersions::add().
Result<std::uint32_t> add_template(SqlSession& session, const TemplateVersion& version);
/// Adds those versions that are later than their domain's latest, so that no older one is in force again.
Result<void> add_later_templates(SqlSession& session, std::span<const TemplateVersion> versions);

}  // namespace metafuse::service
