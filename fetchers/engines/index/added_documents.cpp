#include "fetchers/engines/index/added_documents.h"

#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "fetchers/engines/index/index_update.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"

namespace metafuse::fetchers {
namespace {

constexpr int kBusyMilliseconds = 5000;

std::string path_beside(const std::string& index) {
  return index + ".added";
}

/// Whether there is an index; one of another version is built again, from its files and these.
bool has_index(const std::string& index) {
  std::error_code error;
  return std::filesystem::exists(index, error) && other_version(index).empty();
}

}  // namespace

std::set<std::string> urls_of(const std::vector<AddedDocuments::Change>& changes) {
  std::set<std::string> urls;
  for (const AddedDocuments::Change& change : changes) urls.insert(change.url);
  return urls;
}

Result<std::int64_t> added_step(SqliteDatabase& index) {
  std::int64_t step = 0;
  TRY(auto last,
      index.prepare("SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE name='added'"));
  TRY_VOID(last.for_each_row([&](const SqliteRow& row) { step = row.integer(0); }));
  return step;
}

Result<void> note_added_step(SqliteDatabase& index, std::int64_t step) {
  TRY(auto note, index.prepare("INSERT OR REPLACE INTO meta VALUES('added', ?)"));
  return note.run(step);
}

std::string fields_as_json(const SourceDocument& document) {
  JsonObject fields;
  for (const auto& [name, value] : document.fields) fields[name] = to_valid_utf8(value);
  for (const auto& [name, value] : document.numbers) fields[name] = value;
  return to_text(fields);
}

Result<SourceDocument> document_of(std::string_view fields, const std::string& path) {
  TRY(const auto json, parse_json(fields, path));
  SourceDocument document;
  const JsonObject* object = json.if_object();
  if (object == nullptr) return fail(Code::bad_data, path + ": its documents are damaged; rebuild the index");
  for (const auto& [name, value] : *object)
    if (value.is_string())
      document.fields.emplace(name, std::string(value.as_string()));
    else if (value.is_number())
      document.numbers.emplace(name, value.to_number<double>());
  return document;
}

Result<AddedDocuments> AddedDocuments::open(const std::string& index) {
  SqliteOptions options;
  options.mode = SqliteMode::create;
  options.busy_ms = kBusyMilliseconds;
  TRY(auto database, SqliteDatabase::open(path_beside(index), options));
  // a commit is on the disk when it returns
  TRY_VOID(database.run(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
      "CREATE TABLE IF NOT EXISTS added(url TEXT PRIMARY KEY, step INTEGER NOT NULL, fields TEXT);"
      "CREATE INDEX IF NOT EXISTS added_by_step ON added(step);"
      "CREATE TABLE IF NOT EXISTS fields(name TEXT PRIMARY KEY, is_number INTEGER NOT NULL);"));
  AddedDocuments added(index, std::move(database));
  TRY_VOID(added.learn_columns());
  return added;
}

/// Notes the columns of the index, whose documents come from files.
Result<void> AddedDocuments::learn_columns() {
  if (!has_index(index_)) return {};
  TRY(auto file, open_index(index_));
  TRY(const auto shape, shape_of_index(file));
  TRY(auto note, database_.prepare("INSERT OR IGNORE INTO fields VALUES(?, ?)"));
  for (const std::string& name : shape.lists.columns) TRY_VOID(note.run(name, 0));
  for (const std::string& name : shape.numbers) TRY_VOID(note.run(name, 1));
  return {};
}

Result<std::optional<AddedDocuments>> AddedDocuments::open_if_there(const std::string& index) {
  std::error_code error;
  if (!std::filesystem::exists(path_beside(index), error)) return std::optional<AddedDocuments>();
  TRY(auto opened, open(index));
  return std::optional<AddedDocuments>(std::move(opened));
}

Result<void> AddedDocuments::in_transaction(const std::function<Result<void>(std::int64_t step)>& work) {
  TRY_VOID(database_.run("BEGIN IMMEDIATE;"));
  const auto done = [&]() -> Result<void> {
    TRY(const std::int64_t last, last_step());
    TRY_VOID(work(last + 1));
    return database_.run("COMMIT;");
  }();
  if (!done) static_cast<void>(database_.run("ROLLBACK;"));
  return done;
}

/// Notes the fields of documents, so that every index can have all of them.
Result<void> AddedDocuments::learn_fields(std::span<const SourceDocument> documents) {
  TRY(auto find, database_.prepare("SELECT is_number FROM fields WHERE name=?"));
  TRY(auto note, database_.prepare("INSERT INTO fields VALUES(?, ?)"));
  const auto learn = [&](const std::string& name, bool is_number, const std::string& place) -> Result<void> {
    std::optional<bool> known;
    find.bind(name);
    TRY_VOID(find.for_each_row([&](const SqliteRow& row) { known = row.integer(0) != 0; }));
    if (known == is_number) return {};
    if (known)
      return fail(Code::bad_data,
                  fmt::format("{}: the field \"{}\" is a {} here and a {} in other documents", place, name,
                              is_number ? "number" : "text", is_number ? "text" : "number"));
    TRY_VOID(check_column_name(name, place));
    return note.run(name, is_number ? 1 : 0);
  };
  for (const SourceDocument& document : documents) {
    const std::string place = document.place.empty() ? document.url : document.place;
    for (const auto& [name, value] : document.fields) TRY_VOID(learn(name, false, place));
    for (const auto& [name, value] : document.numbers) TRY_VOID(learn(name, true, place));
  }
  std::size_t count = 0;
  TRY(auto all, database_.prepare("SELECT count(*) FROM fields"));
  TRY_VOID(all.for_each_row([&](const SqliteRow& row) { count = static_cast<std::size_t>(row.integer(0)); }));
  if (count > kMaxColumns)
    return fail(Code::bad_data, fmt::format("more than {} different fields in all documents", kMaxColumns));
  return {};
}

Result<void> AddedDocuments::put(std::span<const SourceDocument> documents) {
  return in_transaction([&](std::int64_t step) -> Result<void> {
    TRY_VOID(learn_columns());  // files may have brought others since
    TRY_VOID(learn_fields(documents));
    TRY(auto write, database_.prepare("INSERT OR REPLACE INTO added VALUES(?, ?, ?)"));
    for (const SourceDocument& document : documents)
      TRY_VOID(write.run(document.url, step, fields_as_json(document)));
    return {};
  });
}

/// How many of the addresses, each once, have a document: one that was added, or one of the index that was
/// not removed since.
Result<std::size_t> AddedDocuments::count_documents(std::span<const std::string> urls) {
  const std::set<std::string> once(urls.begin(), urls.end());
  const std::vector<std::string> each(once.begin(), once.end());
  std::vector<std::int64_t> ids(each.size(), 0);
  if (has_index(index_)) {
    TRY(auto file, open_index(index_));
    TRY(ids, ids_of_urls(file, each));
  }
  TRY(auto change, database_.prepare("SELECT fields IS NOT NULL FROM added WHERE url=?"));
  std::size_t count = 0;
  for (std::size_t i = 0; i < each.size(); ++i) {
    bool has_document = ids[i] != 0;
    change.bind(each[i]);
    TRY_VOID(change.for_each_row([&](const SqliteRow& row) { has_document = row.integer(0) != 0; }));
    count += has_document ? 1 : 0;
  }
  return count;
}

Result<std::size_t> AddedDocuments::remove(std::span<const std::string> urls) {
  std::size_t removed = 0;
  const auto done = in_transaction([&](std::int64_t step) -> Result<void> {
    TRY(removed, count_documents(urls));
    TRY(auto write, database_.prepare("INSERT OR REPLACE INTO added VALUES(?, ?, NULL)"));
    for (const std::string& url : urls) TRY_VOID(write.run(url, step));
    return {};
  });
  if (!done) return done.error();
  return removed;
}

Result<std::int64_t> AddedDocuments::last_step() {
  std::int64_t step = 0;
  TRY(auto last, database_.prepare("SELECT coalesce(max(step), 0) FROM added"));
  TRY_VOID(last.for_each_row([&](const SqliteRow& row) { step = row.integer(0); }));
  return step;
}

Result<std::vector<AddedDocuments::Change>> AddedDocuments::since(std::int64_t step, std::size_t most) {
  std::vector<Change> changes;
  TRY(auto rows,
      database_.prepare("SELECT url, step, fields FROM added WHERE step > ? ORDER BY step, rowid"));
  rows.bind(step);
  while (true) {
    TRY(const auto row, rows.next());
    if (!row || (changes.size() >= most && row->integer(1) != changes.back().step)) return changes;
    Change& change = changes.emplace_back();
    change.url = row->text(0);
    change.step = row->integer(1);
    if (row->kind(2) == SqliteRow::Kind::null) continue;
    TRY(change.document, document_of(row->text(2), "the documents added to the index"));
    change.document->url = change.document->place = change.url;
  }
}

}  // namespace metafuse::fetchers
