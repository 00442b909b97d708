#include "fetchers/engines/index/document_writer.h"

#include <cmath>

#include "core/languages.h"
#include "core/text.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/fingerprint.h"
#include "fetchers/engines/index/packed_text.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/passages.h"
#include "fetchers/engines/index/text_language.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kSnippetBytes = 300;
constexpr std::size_t kShortFields = 1024;  ///< bytes below which compression saves little
constexpr std::size_t kMostFields = std::size_t{1} << 30;

}  // namespace

std::string kept_fields(const SourceDocument& document) {
  std::string json = fields_as_json(document);
  return json.size() < kShortFields ? json : packed_text(json);
}

Result<SourceDocument> kept_document(std::string_view kept, const std::string& path) {
  if (kept.starts_with('{')) return document_of(kept, path);
  const auto json = unpacked_text(kept, kMostFields);
  if (!json) return fail(json.error().code, path + ": " + json.error().text);
  return document_of(*json, path);
}

Result<DocumentWriter> DocumentWriter::make(SqliteDatabase& database, const IndexShape& shape,
                                            bool stores_sources) {
  DocumentWriter writer;
  writer.shape_ = shape;
  TRY(writer.page_, database.prepare("INSERT INTO pages VALUES(?, ?, ?, ?, ?, ?, ?)"));
  TRY(writer.text_, database.prepare("INSERT INTO texts VALUES(?, ?, ?)"));
  std::vector<std::string> tables = {"pages", "texts"};
  if (stores_sources) {
    TRY(writer.source_, database.prepare("INSERT INTO sources VALUES(?, ?, ?, ?)"));
    tables.push_back("sources");
  }
  if (!shape.numbers.empty()) {
    TRY(writer.number_,
        database.prepare("INSERT INTO numbers VALUES(?, " + joined_columns(shape.numbers, true) + ")"));
    tables.push_back("numbers");
  }
  for (const std::string& table : tables) {
    TRY(auto no_row, database.prepare("DELETE FROM " + table + " WHERE id=?"));
    writer.no_rows_.push_back(std::move(no_row));
  }
  return writer;
}

Result<void> DocumentWriter::insert(std::int64_t id, const SourceDocument& document, std::int64_t file) {
  if (source_) TRY_VOID(source_->run(id, document.url, file, SqliteBytes{kept_fields(document)}));
  const std::string text = without_controls(field_of(document, "text"));
  const std::string_view date = field_of(document, "date");
  std::string language(field_of(document, "language"));
  if (language.empty()) language = field_of(document, "lang");
  if (language.empty()) language = language_of_text(text);
  // readers are told only of documents unlike the others
  const bool is_usual = field_of(document, "language").empty() && language == shape_.lists.language;
  // a short text is shown as it is, and its fingerprint would say little
  const bool is_long = text.size() > kSnippetBytes;
  if (is_long)
    TRY_VOID(text_.run(id, document.url, SqliteBytes{packed_text(truncate_utf8(text, kKeptTextBytes))}));
  TRY_VOID(page_.run(id, document.url, printable(field_of(document, "title")),
                     beginning_of_text(text, kSnippetBytes),
                     clean_date(date.empty() ? field_of(document, "published") : date),
                     is_usual ? std::string() : language_tag(language),
                     static_cast<std::int64_t>(is_long ? text_fingerprint(text) : 0)));
  if (document.numbers.empty()) return {};
  int position = 1;
  number_.bind_at(position, id);
  for (const std::string& name : shape_.numbers) {
    const auto number = document.numbers.find(name);
    // SQLite stores NaN as NULL.
    number_.bind_at(++position, number != document.numbers.end() ? number->second : std::nan(""));
  }
  return number_.run();
}

Result<void> DocumentWriter::remove(std::int64_t id) {
  for (SqliteStatement& statement : no_rows_) TRY_VOID(statement.run(id));
  return {};
}

}  // namespace metafuse::fetchers
