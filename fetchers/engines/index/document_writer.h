#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/documents/source_document.h"
#include "fetchers/engines/index/index_shape.h"

namespace metafuse::fetchers {

/// A document's texts and numbers as the table `sources` keeps them: fields_as_json(), compressed if long.
std::string kept_fields(const SourceDocument& document);

/// Reads kept_fields().
/// in:     path - of the index, for errors
/// errors: bad_data: damaged
Result<SourceDocument> kept_document(std::string_view kept, const std::string& path);

/// Inserts and removes documents in an index, all but their words.
class DocumentWriter {
 public:
  /// in:     stores_sources - the index has the table `sources`
  /// errors: those of SQLite
  static Result<DocumentWriter> make(SqliteDatabase& database, const IndexShape& shape, bool stores_sources);

  /// Stores what a result shows, and the numbers. The date is the field `date`, else `published`;
  /// the language is `language`, else `lang`.
  /// in:     file - the number of the document's file
  Result<void> insert(std::int64_t id, const SourceDocument& document, std::int64_t file);
  Result<void> remove(std::int64_t id);

 private:
  IndexShape shape_;
  std::optional<SqliteStatement> source_;
  SqliteStatement page_, text_, number_;
  std::vector<SqliteStatement> no_rows_;  ///< delete the rows of a document
};

}  // namespace metafuse::fetchers
