#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json.h"
#include "service/store/sql_rows.h"
#include "service/store/sql_store.h"

// Store::export_lines: it reads a hundred rows at a time, so that nothing waits for a long export.

namespace metafuse::service {
namespace {

constexpr int kRowsAtOnce = 100;

JsonObject stored_list_json(const StoredSearch& search, const StoredList& list) {
  JsonArray documents;
  for (const std::uint32_t document : list.documents) documents.emplace_back(search.documents[document]);
  return {{"feature", list.feature},
          {"depth", list.depth},
          {"failed", list.has_failed},
          {"documents", std::move(documents)}};
}

JsonObject search_json(const StoredSearch& search) {
  JsonObject slots;
  for (const auto& [name, value] : search.slots.slots) slots[name] = value;
  JsonArray lists;
  for (const StoredList& list : search.lists) lists.emplace_back(stored_list_json(search, list));
  JsonArray shown;
  for (const ShownResult& result : search.shown) {
    JsonObject entry{{"document", search.documents[result.document]}};
    if (result.team != Team::none) entry["team"] = result.team == Team::champion ? "champion" : "challenger";
    shown.emplace_back(std::move(entry));
  }
  return {{"kind", "search"},          {"id", search.id},
          {"domain", search.domain},   {"query", search.query},
          {"slots", std::move(slots)}, {"at", search.at},
          {"model", search.model},     {"challenger", search.challenger},
          {"lists", std::move(lists)}, {"shown", std::move(shown)},
          {"times", search.times}};
}

JsonObject click_json(const Click& click) {
  // The hash of the address prefix is not exported, because readers of the export have no need for it.
  return {{"kind", "click"}, {"search", click.search}, {"position", click.position}, {"domain", click.domain},
          {"at", click.at},  {"key", click.key},       {"weight", click.weight}};
}

JsonObject judgment_json(const StoredJudgment& judgment) {
  return {{"kind", "judgment"},        {"domain", judgment.domain},
          {"query", judgment.query},   {"document", judgment.document},
          {"judge", judgment.judge},   {"grade", judgment.grade},
          {"search", judgment.search}, {"at", judgment.at}};
}

JsonObject template_json(const TemplateVersion& version) {
  return {{"kind", "template"},   {"domain", version.domain}, {"number", version.number},
          {"text", version.text}, {"author", version.author}, {"at", version.at}};
}

using TakeLine = std::function<Result<void>(std::string_view line)>;

/// Exports one table in the order of its key.
///
/// in: key - its columns; key_of - their values in a row, after which the next part continues
template <class Row>
Result<void> export_table(SqlDatabase& database, std::string_view columns, std::string_view table,
                          std::string_view key, Result<Row> (*read)(SqlRow),
                          std::vector<SqlValue> (*key_of)(const Row&), JsonObject (*json_of)(const Row&),
                          const TakeLine& take) {
  Row last;
  std::string places;
  for (std::size_t i = 1; i <= key_of(last).size(); ++i) places += fmt::format("{}${}", i > 1 ? ", " : "", i);
  const std::string sql = fmt::format("SELECT {} FROM {} WHERE ({}) > ({}) ORDER BY {} LIMIT {}", columns,
                                      table, key, places, key, kRowsAtOnce);
  for (;;) {
    std::vector<std::string> lines;
    Row next = last;
    const auto look = [&](SqlSession& session) {
      lines.clear();
      return session.run(sql, key_of(last), [&](SqlRow row) -> Result<void> {
        TRY(next, read(row));
        lines.push_back(to_text(json_of(next)));
        return {};
      });
    };
    TRY_VOID(database.read(look));
    if (lines.empty()) return {};
    last = std::move(next);
    for (const std::string& line : lines) TRY_VOID(take(line));
  }
}

}  // namespace

Result<void> SqlStore::export_lines(const TakeLine& take) {
  TRY_VOID(export_table<StoredSearch>(
      *database_, kSearchColumns, "searches", "id", read_search_row,
      [](const StoredSearch& row) { return std::vector<SqlValue>{row.id}; }, search_json, take));
  TRY_VOID(export_table<Click>(
      *database_, kClickColumns, "clicks", "search, position",
      [](SqlRow row) -> Result<Click> { return read_click_row(row); },
      [](const Click& row) {
        const std::int64_t position = row.search.empty() ? -1 : std::int64_t{row.position};
        return std::vector<SqlValue>{row.search, position};
      },
      click_json, take));
  TRY_VOID(export_table<StoredJudgment>(
      *database_, kJudgmentColumns, "judgments", "domain, query, document, judge",
      [](SqlRow row) -> Result<StoredJudgment> { return read_judgment_row(row); },
      [](const StoredJudgment& row) {
        return std::vector<SqlValue>{row.domain, row.query, row.document, row.judge};
      },
      judgment_json, take));
  return export_table<TemplateVersion>(
      *database_, kTemplateColumns, "template_versions", "domain, number",
      [](SqlRow row) -> Result<TemplateVersion> { return read_template_row(row); },
      [](const TemplateVersion& row) {
        return std::vector<SqlValue>{row.domain, std::int64_t{row.number}};
      },
      template_json, take);
}

}  // namespace metafuse::service
