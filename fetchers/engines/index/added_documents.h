#pragma once

// The documents that programs added to an index or removed from it, in a file of their own beside the index
// (INDEX.added). It is the truth about them: every build and update of the index takes them from here, so a
// change that was written here is never lost, and what a file says about the same address does not count.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/document_files.h"

namespace metafuse::fetchers {

class AddedDocuments {
 public:
  /// A document as it was added, or an address whose document was removed.
  struct Change {
    std::string url;
    std::optional<SourceDocument> document;  ///< none: removed
    std::int64_t step = 0;                   ///< the number of the change
  };

  /// Opens the file beside an index and creates it if it is missing.
  /// errors: those of SqliteDatabase
  static Result<AddedDocuments> open(const std::string& index);
  /// The same, only if the file exists.
  static Result<std::optional<AddedDocuments>> open_if_there(const std::string& index);

  /// Adds documents, or replaces those of the same addresses. On success they are on the disk.
  ///
  /// in:     documents - each with a URL
  /// errors: bad_data: a field name that cannot be a column, a field that is a text in one document and a
  ///         number in another, too many fields; those of SqliteDatabase. Then none of them is added.
  Result<void> put(std::span<const SourceDocument> documents);
  /// Removes the documents of addresses, also of those that files bring, now or later. On success that is on
  /// the disk.
  /// out:    how many of the addresses had a document, added or in the index
  Result<std::size_t> remove(std::span<const std::string> urls);

  /// The number of the last change; 0 if there was none.
  Result<std::int64_t> last_step();
  /// What is so since a step; of several changes of one address, the last. In the order of the changes.
  /// in:     most - more are only read to complete a step
  Result<std::vector<Change>> since(std::int64_t step, std::size_t most = ~std::size_t{0});

 private:
  AddedDocuments(std::string index, SqliteDatabase database)
      : index_(std::move(index)), database_(std::move(database)) {}
  Result<void> learn_columns();
  Result<std::size_t> count_documents(std::span<const std::string> urls);
  Result<void> learn_fields(std::span<const SourceDocument> documents);
  Result<void> in_transaction(const std::function<Result<void>(std::int64_t step)>& work);

  std::string index_;  ///< the index's file
  SqliteDatabase database_;
};

/// The addresses that changes are about.
std::set<std::string> urls_of(const std::vector<AddedDocuments::Change>& changes);

/// The last change of the added documents that an index contains.
Result<std::int64_t> added_step(SqliteDatabase& index);
Result<void> note_added_step(SqliteDatabase& index, std::int64_t step);

/// A document's texts and numbers as a JSON object.
std::string fields_as_json(const SourceDocument& document);

/// Reads fields_as_json().
/// in:     path - of the file that holds them, for errors
/// errors: bad_data: damaged
Result<SourceDocument> document_of(std::string_view fields, const std::string& path);

}  // namespace metafuse::fetchers
