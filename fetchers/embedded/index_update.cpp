#include "fetchers/embedded/index_update.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/json.h"
#include "core/languages.h"
#include "core/utf8.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/embedded/cosine_index.h"
#include "fetchers/embedded/ranking_tables.h"

namespace metafuse::fetchers {

const char* const kCreateSources =
    "CREATE TABLE sources(id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, file TEXT NOT NULL, stamp TEXT "
    "NOT NULL, "
    "fields TEXT NOT NULL); CREATE INDEX sources_by_file ON sources(file);";

namespace {

constexpr std::size_t kSnippetBytes = 300;

/// The size and time of a file; empty if it is not a file, such as a line of a file (FILE:LINE).
std::string stamp_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return {};
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? std::string() : fmt::format("{} {}", size, time.time_since_epoch().count());
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
  if (object == nullptr)
    return fail(Code::bad_data, path + ": its table `sources` is damaged; rebuild the index");
  for (const auto& [name, value] : *object)
    if (value.is_string())
      document.fields.emplace(name, std::string(value.as_string()));
    else if (value.is_number())
      document.numbers.emplace(name, value.to_number<double>());
  return document;
}

Result<void> run_once(SqliteStatement& statement) {
  TRY_VOID(statement.step());
  statement.reset();
  return {};
}

Result<std::vector<std::string>> texts_from(SqliteDatabase& database, const char* sql) {
  std::vector<std::string> texts;
  TRY(auto row, database.prepare(sql));
  while (true) {
    TRY(const bool has_row, row.step());
    if (!has_row) return texts;
    texts.emplace_back(row.text(0));
  }
}

Result<IndexShape> shape_of_index(SqliteDatabase& database) {
  IndexShape shape;
  TRY(shape.columns, texts_from(database, "SELECT name FROM pragma_table_info('documents')"));
  TRY(shape.numbers,
      texts_from(database, "SELECT name FROM pragma_table_info('numbers') WHERE name <> 'id'"));
  TRY(shape.tables, read_words_tables(database));
  return shape;
}

template <class Values>
bool has_other_names(const Values& values, const std::vector<std::string>& known) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) {
    return std::find(known.begin(), known.end(), value.first) == known.end();
  });
}

Result<std::int64_t> number_from(SqliteDatabase& database, const char* sql) {
  TRY(auto row, database.prepare(sql));
  TRY_VOID(row.step());
  return row.integer(0);
}

/// One update: documents that are read are inserted or kept; those that do not occur again are removed.
class IndexUpdate {
 public:
  IndexUpdate(SqliteDatabase& database, std::string path, const IndexOptions& options)
      : database_(database), path_(std::move(path)), options_(options) {}

  /// False when this index cannot be updated.
  Result<bool> begin() {
    auto sources = database_.prepare("SELECT count(*) FROM sources");
    if (!sources) return false;
    TRY(shape_, shape_of_index(database_));
    if (shape_.tables != wanted_tables(options_) || !has_shown_facts(database_)) return false;
    TRY_VOID(database_.run("BEGIN; CREATE TEMP TABLE seen(id INTEGER PRIMARY KEY);"));
    TRY(auto writer, SourceWriter::make(database_, shape_));
    writer_.emplace(std::move(writer));
    TRY(auto known, database_.prepare("SELECT id FROM sources WHERE file=? AND stamp=? AND stamp<>''"));
    TRY(auto find, database_.prepare("SELECT id, fields FROM sources WHERE url=?"));
    TRY(auto see, database_.prepare("INSERT OR IGNORE INTO temp.seen VALUES(?)"));
    statements_.emplace(Statements{std::move(known), std::move(find), std::move(see)});
    TRY(last_id_, number_from(database_, "SELECT coalesce(max(id), 0) FROM sources"));
    return true;
  }

  bool needs_rebuild() const { return needs_rebuild_; }

  bool is_known(const std::string& file) {
    SqliteStatement& known = statements_->known;
    known.bind(1, file);
    known.bind(2, stamp_of(file));
    std::vector<std::int64_t> ids;
    while (true) {
      const auto row = known.step();
      if (!row || !*row) break;
      ids.push_back(known.integer(0));
    }
    known.reset();
    for (const std::int64_t id : ids) static_cast<void>(see(id));
    return !ids.empty();
  }

  Result<void> take(const SourceDocument& document) {
    needs_rebuild_ = needs_rebuild_ || has_other_names(document.fields, shape_.columns) ||
                     has_other_names(document.numbers, shape_.numbers);
    if (needs_rebuild_) return {};
    if (document.url.empty()) return fail(Code::bad_data, document.place + ": no \"url\"");
    SqliteStatement& find = statements_->find;
    find.bind(1, document.url);
    TRY(const bool is_there, find.step());
    const std::int64_t id = is_there ? find.integer(0) : last_id_ + 1;
    const std::string before = is_there ? std::string(find.text(1)) : std::string();
    find.reset();
    TRY_VOID(see(id));
    const bool is_same = is_there && before == fields_as_json(document);
    if (is_there) {
      TRY(const auto old, document_of(before, path_));
      // Unchanged text is stored again only to record its file's new stamp, if it has a file of its own.
      if (is_same && stamp_of(document.place).empty()) return {};
      TRY_VOID(writer_->remove(id, old));
    } else {
      last_id_ = id;
    }
    TRY_VOID(writer_->insert(id, document));
    if (is_same) return {};
    (is_there ? report_.changed : report_.added) += 1;
    renewed_.push_back(id);
    return {};
  }

  Result<IndexReport> finish() {
    TRY_VOID(remove_unseen());
    TRY_VOID(renew_ranking());
    TRY_VOID(renew_cosine());
    TRY(report_.dimensions, renew_vectors());
    TRY(const auto count, number_from(database_, "SELECT count(*) FROM pages"));
    if (count == 0) return fail(Code::bad_data, path_ + ": no document to index");
    TRY_VOID(database_.run("COMMIT;"));
    report_.documents = static_cast<std::size_t>(count);
    report_.columns = shape_.columns;
    report_.is_update = true;
    return report_;
  }

 private:
  struct Statements {
    SqliteStatement known, find, see;
  };

  Result<void> see(std::int64_t id) {
    statements_->see.bind(1, id);
    return run_once(statements_->see);
  }

  Result<void> remove_unseen() {
    std::vector<std::pair<std::int64_t, std::string>> gone;
    {
      TRY(auto row,
          database_.prepare("SELECT id, fields FROM sources WHERE id NOT IN (SELECT id FROM temp.seen)"));
      while (true) {
        TRY(const bool has_row, row.step());
        if (!has_row) break;
        gone.emplace_back(row.integer(0), std::string(row.text(1)));
      }
    }
    for (const auto& [id, fields] : gone) {
      TRY(const auto document, document_of(fields, path_));
      TRY_VOID(writer_->remove(id, document));
      removed_.push_back(id);
    }
    report_.removed = gone.size();
    return {};
  }

  Result<void> renew_ranking() {
    ChangedDocuments changed;
    changed.renewed = renewed_;
    changed.removed = removed_;
    changed.read = [this](std::int64_t id) { return source_of(id); };
    return update_ranking(database_, shape_, options_, changed);
  }

  /// The cosine tables are rewritten if anything has changed.
  Result<void> renew_cosine() {
    if (!options_.has_cosine) return drop_cosine(database_);
    if (has_cosine(database_) && renewed_.empty() && report_.removed == 0) return {};
    return write_cosine(database_, table_of_words(shape_.tables)->name, static_cast<std::size_t>(last_id_),
                        options_.is_interrupted);
  }

  /// Latent semantic indexing starts anew if anything has changed; an endpoint is only asked for
  /// new documents.
  Result<std::size_t> renew_vectors() {
    TRY(const auto meta, read_vector_meta(database_, path_));
    const VectorOptions& wanted = options_.vectors;
    if (wanted.source == VectorOptions::Source::none) {
      // Otherwise searches would find vectors of documents that no longer exist.
      TRY_VOID(database_.run(
          "DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS lsi_words; DELETE FROM meta WHERE "
          "name='embedding';"));
      return std::size_t{0};
    }
    const bool is_same_kind = meta.source == wanted.source && meta.model == wanted.model;
    const bool is_untouched = renewed_.empty() && report_.removed == 0;
    if (is_same_kind && is_untouched) return meta.dimensions;
    VectorWriting writing;
    writing.last_id = static_cast<std::size_t>(last_id_);
    writing.stems_english = options_.stems_english;
    writing.threads = options_.files.threads;
    writing.is_interrupted = options_.is_interrupted;
    writing.progress = options_.progress;
    writing.text_of = [this](std::int64_t id) { return text_of(id); };
    writing.ids = renewed_;
    if (is_same_kind && wanted.source == VectorOptions::Source::endpoint) {
      TRY_VOID(database_.run("DELETE FROM vectors WHERE id NOT IN (SELECT id FROM pages);"));
    } else {
      TRY_VOID(database_.run(
          "DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS lsi_words; DELETE FROM meta WHERE "
          "name='embedding';"));
      writing.ids.clear();
      TRY(auto row, database_.prepare("SELECT id FROM pages ORDER BY id"));
      while (true) {
        TRY(const bool has_row, row.step());
        if (!has_row) break;
        writing.ids.push_back(row.integer(0));
      }
    }
    return write_vectors(database_, wanted, writing);
  }

  /// The current version of a document.
  Result<SourceDocument> source_of(std::int64_t id) {
    if (!source_) {
      TRY(auto source, database_.prepare("SELECT fields FROM sources WHERE id=?", true));
      source_.emplace(std::move(source));
    }
    source_->bind(1, id);
    TRY_VOID(source_->step());
    auto document = document_of(source_->text(0), path_);
    source_->reset();
    return document;
  }

  Result<std::string> text_of(std::int64_t id) {
    TRY(const auto document, source_of(id));
    return std::string(field_of(document, "title")) + '\n' + std::string(field_of(document, "text"));
  }

  SqliteDatabase& database_;
  std::string path_;
  const IndexOptions& options_;
  IndexShape shape_;
  std::optional<SourceWriter> writer_;
  std::optional<Statements> statements_;
  std::optional<SqliteStatement> source_;
  std::vector<std::int64_t> renewed_, removed_;
  std::int64_t last_id_ = 0;
  bool needs_rebuild_ = false;
  IndexReport report_;
};

}  // namespace

std::string joined_columns(const std::vector<std::string>& columns, bool as_marks) {
  std::string out;
  for (const std::string& column : columns)
    out += (out.empty() ? "" : ", ") + (as_marks ? std::string("?") : '"' + column + '"');
  return out;
}

std::string_view field_of(const SourceDocument& document, const std::string& column) {
  const auto found = document.fields.find(column);
  return found == document.fields.end() ? std::string_view() : std::string_view(found->second);
}

void bind_page(SqliteStatement& page, std::int64_t id, const SourceDocument& document) {
  const std::string_view date = field_of(document, "date");
  const std::string_view language = field_of(document, "language");
  page.bind(1, id);
  page.bind(2, document.url);
  page.bind(3, field_of(document, "title"));
  page.bind(4, truncate_utf8(field_of(document, "text"), kSnippetBytes));
  page.bind(5, clean_date(date.empty() ? field_of(document, "published") : date));
  page.bind(6, language_tag(language.empty() ? field_of(document, "lang") : language));
}

Result<NumberWriter> NumberWriter::make(SqliteDatabase& database, const std::vector<std::string>& numbers) {
  NumberWriter writer;
  writer.numbers_ = numbers;
  if (numbers.empty()) return writer;
  TRY(writer.row_, database.prepare("INSERT INTO numbers VALUES(?, " + joined_columns(numbers, true) + ")"));
  TRY(writer.no_row_, database.prepare("DELETE FROM numbers WHERE id=?"));
  return writer;
}

Result<void> NumberWriter::insert(std::int64_t id, const SourceDocument& document) {
  if (document.numbers.empty()) return {};
  row_.bind(1, id);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const auto number = document.numbers.find(numbers_[i]);
    // SQLite stores NaN as NULL.
    row_.bind(static_cast<int>(i) + 2, number != document.numbers.end() ? number->second : std::nan(""));
  }
  return run_once(row_);
}

Result<void> NumberWriter::remove(std::int64_t id) {
  if (numbers_.empty()) return {};
  no_row_.bind(1, id);
  return run_once(no_row_);
}

std::vector<WordsTable> wanted_tables(const IndexOptions& options) {
  std::vector<WordsTable> tables{{"documents", options.stems_english ? "porter" : "unicode61"}};
  std::set<std::string> others(options.tokenizers.begin(), options.tokenizers.end());
  if (options.has_cosine) others.insert("unicode61");
  others.erase(tables.front().tokenizer);
  for (const std::string& tokenizer : others) tables.push_back({"documents_" + tokenizer, tokenizer});
  return tables;
}

const WordsTable* table_of_words(const std::vector<WordsTable>& tables) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [](const WordsTable& table) { return table.tokenizer == "unicode61"; });
  return found == tables.end() ? nullptr : &*found;
}

Result<WordsWriter> WordsWriter::make(SqliteDatabase& database, const IndexShape& shape) {
  WordsWriter writer;
  writer.columns_ = shape.columns;
  const std::string names = joined_columns(shape.columns);
  const std::string marks = joined_columns(shape.columns, true);
  for (const WordsTable& table : shape.tables) {
    TRY(auto words,
        database.prepare("INSERT INTO " + table.name + "(rowid, " + names + ") VALUES(?, " + marks + ")"));
    TRY(auto no_words, database.prepare("INSERT INTO " + table.name + "(" + table.name + ", rowid, " + names +
                                        ") VALUES('delete', ?, " + marks + ")"));
    writer.words_.push_back(std::move(words));
    writer.no_words_.push_back(std::move(no_words));
  }
  return writer;
}

Result<void> WordsWriter::run(std::vector<SqliteStatement>& statements, std::int64_t id,
                              const SourceDocument& document) {
  for (SqliteStatement& statement : statements) {
    statement.bind(1, id);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      statement.bind(static_cast<int>(i) + 2, to_valid_utf8(field_of(document, columns_[i])));
    TRY_VOID(run_once(statement));
  }
  return {};
}

Result<void> WordsWriter::insert(std::int64_t id, const SourceDocument& document) {
  return run(words_, id, document);
}

Result<void> WordsWriter::remove(std::int64_t id, const SourceDocument& before) {
  return run(no_words_, id, before);
}

Result<SourceWriter> SourceWriter::make(SqliteDatabase& database, const IndexShape& shape) {
  SourceWriter writer;
  TRY(writer.words_, WordsWriter::make(database, shape));
  TRY(writer.numbers_, NumberWriter::make(database, shape.numbers));
  TRY(writer.source_, database.prepare("INSERT INTO sources VALUES(?, ?, ?, ?, ?)"));
  TRY(writer.page_, database.prepare(kInsertPage));
  TRY(writer.no_source_, database.prepare("DELETE FROM sources WHERE id=?"));
  TRY(writer.no_page_, database.prepare("DELETE FROM pages WHERE id=?"));
  return writer;
}

Result<void> SourceWriter::insert(std::int64_t id, const SourceDocument& document) {
  const std::string stamp = stamp_of(document.place);
  source_.bind(1, id);
  source_.bind(2, document.url);
  source_.bind(3, stamp.empty() ? std::string_view() : std::string_view(document.place));
  source_.bind(4, stamp);
  source_.bind(5, fields_as_json(document));
  bind_page(page_, id, document);
  for (SqliteStatement* statement : {&source_, &page_}) TRY_VOID(run_once(*statement));
  TRY_VOID(words_.insert(id, document));
  return numbers_.insert(id, document);
}

Result<void> SourceWriter::remove(std::int64_t id, const SourceDocument& before) {
  no_source_.bind(1, id);
  no_page_.bind(1, id);
  for (SqliteStatement* statement : {&no_source_, &no_page_}) TRY_VOID(run_once(*statement));
  TRY_VOID(words_.remove(id, before));
  return numbers_.remove(id);
}

Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const IndexOptions& options) {
  TRY(auto database, SqliteDatabase::open(path, {.mode = SqliteMode::create}));
  TRY_VOID(database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"));
  IndexUpdate update(database, path, options);
  TRY(const bool can_update, update.begin());
  if (!can_update) return std::optional<IndexReport>();
  DocumentFileOptions files = options.files;
  files.is_known = [&](const std::string& file) { return update.is_known(file); };
  std::vector<std::string> left_out;
  for (const std::string& document : documents) {
    TRY(auto here, read_documents(document, files, [&](SourceDocument one) -> Result<void> {
          if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
          return update.take(one);
        }));
    left_out.insert(left_out.end(), here.begin(), here.end());
  }
  if (update.needs_rebuild()) return std::optional<IndexReport>();
  TRY(auto report, update.finish());
  report.left_out = std::move(left_out);
  return std::optional<IndexReport>(std::move(report));
}

}  // namespace metafuse::fetchers
