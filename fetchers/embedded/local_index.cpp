#include <algorithm>
#include <filesystem>
#include <map>

#include <unistd.h>

#include "core/atomic_file.h"
#include "core/utf8.h"
#include "fetchers/embedded/document_files.h"
#include "fetchers/embedded/local_engine.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kSnippetBytes = 300;
constexpr std::size_t kMaxColumns = 64;
constexpr std::size_t kProgressEvery = 1000;

bool is_column_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9') || name == "rank" ||
      name == "rowid" || name == "documents")
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// An index replaces an index or an empty file; anything else at its place is more likely a mistyped name,
/// and is kept.
Result<void> check_place(const std::string& path) {
  if (auto writable = check_writable(path); !writable) return writable;
  std::error_code error;
  const auto kept = [&](const std::string& what) {
    return fail(Code::no_input, path + ": is " + what + ", which an index would replace; name another file");
  };
  if (!std::filesystem::exists(path, error)) return {};
  if (!std::filesystem::is_regular_file(path, error)) return kept("no regular file");
  if (std::filesystem::is_empty(path, error)) return {};
  auto database = SqliteDatabase::open(path, {});
  if (!database || !check_index_format(*database, path)) return kept("there and no index of documents");
  return {};
}

/// Every document once, the last of each URL, at the place of the first.
class Collector {
 public:
  Result<void> take(SourceDocument document) {
    for (const auto& [name, value] : document.fields) TRY_VOID(add_column(name, document.place));
    if (document.url.empty()) return fail(Code::bad_data, document.place + ": no \"url\"");
    keep(std::move(document));
    return {};
  }

  std::vector<SourceDocument> documents;
  std::vector<std::string> columns = {"title", "text"};
  std::size_t replaced = 0;

 private:
  Result<void> add_column(const std::string& name, const std::string& place) {
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) return {};
    if (!is_column_name(name))
      return fail(Code::bad_data, place + ": the field name \"" + name +
                                      "\" cannot be a column; use letters, digits and _, a letter first");
    if (columns.size() >= kMaxColumns)
      return fail(Code::bad_data, place + ": more than " + std::to_string(kMaxColumns) + " different fields");
    columns.push_back(name);
    return {};
  }

  void keep(SourceDocument document) {
    const auto [entry, is_new] = position_.emplace(document.url, documents.size());
    if (is_new) {
      documents.push_back(std::move(document));
    } else {
      documents[entry->second] = std::move(document);
      ++replaced;
    }
  }

  std::map<std::string, std::size_t, std::less<>> position_;
};

std::string joined(const std::vector<std::string>& columns, std::string_view item = {}) {
  std::string out;
  for (const std::string& column : columns)
    out += (out.empty() ? "" : ", ") + (item.empty() ? '"' + column + '"' : std::string(item));
  return out;
}

Result<void> create_tables(SqliteDatabase& database, const Collector& collected,
                           const IndexOptions& options) {
  const std::string tokenizer =
      std::string(options.stems_english ? "porter " : "") + "unicode61 remove_diacritics 2";
  const std::string sql =
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;" + std::string(kCreateIndexMeta) +
      "CREATE TABLE pages(id INTEGER PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, snippet TEXT NOT "
      "NULL);"
      "CREATE VIRTUAL TABLE documents USING fts5(" +
      joined(collected.columns) + ", content='', prefix='3', tokenize='" + tokenizer + "');";
  return database.run(sql.c_str());
}

std::string_view field_of(const SourceDocument& document, const std::string& column) {
  const auto found = document.fields.find(column);
  return found == document.fields.end() ? std::string_view() : std::string_view(found->second);
}

Result<void> insert_all(SqliteDatabase& database, const Collector& collected, const IndexOptions& options) {
  TRY(auto words, database.prepare("INSERT INTO documents(rowid, " + joined(collected.columns) +
                                   ") VALUES(?, " + joined(collected.columns, "?") + ")"));
  TRY(auto page, database.prepare("INSERT INTO pages VALUES(?, ?, ?, ?)"));
  for (std::size_t i = 0; i < collected.documents.size(); ++i) {
    const SourceDocument& document = collected.documents[i];
    const auto id = static_cast<std::int64_t>(i + 1);
    words.bind(1, id);
    for (std::size_t c = 0; c < collected.columns.size(); ++c)
      words.bind(static_cast<int>(c) + 2, field_of(document, collected.columns[c]));
    page.bind(1, id);
    page.bind(2, document.url);
    page.bind(3, field_of(document, "title"));
    page.bind(4, truncate_utf8(field_of(document, "text"), kSnippetBytes));
    for (SqliteStatement* statement : {&words, &page}) {
      TRY_VOID(statement->step());
      statement->reset();
    }
    if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
    if (options.progress && (i + 1) % kProgressEvery == 0)
      options.progress(i + 1, collected.documents.size());
  }
  if (options.progress) options.progress(collected.documents.size(), collected.documents.size());
  return database.run("INSERT INTO documents(documents) VALUES('optimize'); COMMIT;");
}

Result<void> write_index(const std::string& path, const Collector& collected, const IndexOptions& options) {
  TRY(auto database, SqliteDatabase::open(path, {.mode = SqliteMode::create}));
  TRY_VOID(create_tables(database, collected, options));
  return insert_all(database, collected, options);
}

}  // namespace

Result<IndexReport> build_local_index(const std::string& database, const std::vector<std::string>& documents,
                                      const IndexOptions& options) {
  TRY_VOID(check_place(database));
  Collector collected;
  std::vector<std::string> left_out;
  for (const std::string& path : documents) {
    TRY(auto here, read_documents(path, options.files, [&](SourceDocument document) -> Result<void> {
          if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
          return collected.take(std::move(document));
        }));
    left_out.insert(left_out.end(), here.begin(), here.end());
  }
  if (collected.documents.empty()) return fail(Code::bad_data, documents.front() + ": no document to index");
  const std::string beside = database + ".new-" + std::to_string(::getpid());
  std::error_code error;
  std::filesystem::remove(beside, error);
  auto written = write_index(beside, collected, options);
  if (written) {
    std::filesystem::rename(beside, database, error);
    if (error) written = fail(Code::no_input, error.message());
  }
  if (!written) {
    std::filesystem::remove(beside, error);
    return fail(written.error().code, database + ": cannot write the index: " + written.error().text);
  }
  return IndexReport{collected.documents.size(), collected.replaced, std::move(collected.columns),
                     std::move(left_out)};
}

}  // namespace metafuse::fetchers
