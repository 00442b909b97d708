#include "fetchers/embedded/embedded_search.h"

#include <algorithm>

#include "core/url_text.h"
#include "fetchers/answers/clean_text.h"
#include "fetchers/embedded/sqlite_database.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxEmbeddedTitleBytes = 500;
constexpr std::size_t kMaxEmbeddedSnippetBytes = 2000;

std::string like_pattern(std::string_view query) {
  return "%" + std::string(query) + "%";
}

/// "https://host/{column}" with the row's values.
std::string url_of(const SqliteAccess& access, const SqliteStatement& row) {
  const auto value = [&](std::string_view name) -> std::string_view {
    for (int i = 0; i < row.columns(); ++i)
      if (row.column_name(i) == name) return row.text(i);
    return {};
  };
  if (access.url_format.empty()) return std::string(value("url"));
  std::string out;
  std::string_view rest = access.url_format;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    const std::size_t close = rest.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return out + std::string(rest);
    out += rest.substr(0, open);
    out += percent_encoded(value(rest.substr(open + 1, close - open - 1)));
    rest.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline) {
  TRY(auto database, SqliteDatabase::open_read_only(access.database));
  database.set_deadline(&deadline);
  auto row = database.prepare(access.statement);
  if (!row) return fail(Code::bad_config, access.database + ": query_str: " + row.error().text);
  row->bind_named(":query", query);
  row->bind_named(":wildcard", like_pattern(query));
  row->bind_named(":limit", static_cast<std::int64_t>(depth));
  row->bind_named(":offset", static_cast<std::int64_t>(offset));
  // A statement without :limit and :offset gives all rows: the window is ours to cut.
  int to_skip = row->has_parameter(":offset") ? 0 : offset;
  RankedList list;
  while (static_cast<int>(list.hits.size()) < depth) {
    TRY(const auto stepped, row->step());
    if (!stepped) break;
    if (to_skip-- > 0) continue;
    auto url = resolved_url(url_of(access, *row), "");
    if (!url) continue;
    Hit hit;
    hit.url = std::move(*url);
    for (int i = 0; i < row->columns(); ++i) {
      if (row->column_name(i) == "title") hit.title = clean_text(row->text(i), false, kMaxEmbeddedTitleBytes);
      if (row->column_name(i) == "content")
        hit.snippet = clean_text(row->text(i), false, kMaxEmbeddedSnippetBytes);
      if (row->column_name(i) == "published") hit.published = clean_date(row->text(i));
    }
    list.hits.push_back(std::move(hit));
  }
  return list;
}

EmbeddedEngine::EmbeddedEngine(const Engine& engine) : engine_(engine) {
  if (const auto* local = std::get_if<LocalAccess>(&engine_.access))
    local_ = std::make_unique<LocalEngine>(*local);
}

Result<RankedList> EmbeddedEngine::search(std::string_view query, int depth, int offset,
                                          const Deadline& deadline) {
  if (local_) return local_->search(query, depth, offset, deadline);
  if (const auto* sqlite = std::get_if<SqliteAccess>(&engine_.access))
    return search_sqlite(*sqlite, query, depth, offset, deadline);
  const auto& command = std::get<CommandAccess>(engine_.access);
  auto list = search_command(command, query, depth + offset, deadline);
  if (list && offset > 0)
    list->hits.erase(list->hits.begin(),
                     list->hits.begin() + std::min<std::ptrdiff_t>(offset, std::ssize(list->hits)));
  return list;
}

}  // namespace metafuse::fetchers
