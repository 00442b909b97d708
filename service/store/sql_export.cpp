#include "service/store/sql_export.h"

#include <string>
#include <vector>

#include "core/json.h"
#include "service/store/sql_rows.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kRowsAtOnce = "100";

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
          {"lists", std::move(lists)}, {"shown", std::move(shown)}};
}

JsonObject click_json(const Click& click) {
  // The prefix's hash stays here: it is no business of whoever reads the export.
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

/// One table: `next` reads the rows after the last one, adds their lines, and remembers where it stopped.
Result<void> export_table(SqlDatabase& database,
                          const std::function<Result<void>(SqlSession&, std::vector<std::string>&)>& next,
                          const std::function<Result<void>(std::string_view line)>& take) {
  for (;;) {
    std::vector<std::string> lines;
    auto read = database.read([&](SqlSession& session) { return next(session, lines); });
    if (read.has_error()) return read;
    if (lines.empty()) return {};
    for (const std::string& line : lines)
      if (auto taken = take(line); taken.has_error()) return taken;
  }
}

std::string select(std::string_view columns, std::string_view table, std::string_view after,
                   std::string_view order) {
  std::string sql = "SELECT ";
  sql.append(columns).append(" FROM ").append(table).append(" WHERE ").append(after);
  return sql.append(" ORDER BY ").append(order).append(" LIMIT ").append(kRowsAtOnce);
}

}  // namespace

Result<void> export_database(SqlDatabase& database,
                             const std::function<Result<void>(std::string_view line)>& take) {
  StoredSearch search;
  auto done = export_table(
      database,
      [&](SqlSession& session, std::vector<std::string>& lines) {
        const std::string last = search.id;
        return session.run(select(kSearchColumns, "searches", "id > $1", "id"), {last},
                           [&](SqlRow row) -> Result<void> {
                             auto next = read_search_row(row);
                             if (next.has_error()) return next.error();
                             search = std::move(*next);
                             lines.push_back(to_text(search_json(search)));
                             return {};
                           });
      },
      take);
  if (done.has_error()) return done;
  Click click;
  std::int64_t last_position = -1;
  done = export_table(
      database,
      [&](SqlSession& session, std::vector<std::string>& lines) {
        const std::string last = click.search;
        return session.run(
            select(kClickColumns, "clicks", "(search, position) > ($1, $2)", "search, position"),
            {last, last_position}, [&](SqlRow row) -> Result<void> {
              click = read_click_row(row);
              last_position = click.position;
              lines.push_back(to_text(click_json(click)));
              return {};
            });
      },
      take);
  if (done.has_error()) return done;
  StoredJudgment judgment;
  done = export_table(
      database,
      [&](SqlSession& session, std::vector<std::string>& lines) {
        const StoredJudgment last = judgment;
        return session.run(
            select(kJudgmentColumns, "judgments", "(domain, query, document, judge) > ($1, $2, $3, $4)",
                   "domain, query, document, judge"),
            {last.domain, last.query, last.document, last.judge}, [&](SqlRow row) -> Result<void> {
              judgment = read_judgment_row(row);
              lines.push_back(to_text(judgment_json(judgment)));
              return {};
            });
      },
      take);
  if (done.has_error()) return done;
  TemplateVersion version;
  return export_table(
      database,
      [&](SqlSession& session, std::vector<std::string>& lines) {
        const std::string last = version.domain;
        return session.run(
            select(kTemplateColumns, "template_versions", "(domain, number) > ($1, $2)", "domain, number"),
            {last, std::int64_t{version.number}}, [&](SqlRow row) -> Result<void> {
              version = read_template_row(row);
              lines.push_back(to_text(template_json(version)));
              return {};
            });
      },
      take);
}

}  // namespace metafuse::service
