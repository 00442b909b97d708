#pragma once

// The fields that the documents of an index have: which lists of words and numbers it consists of, and
// whether a document goes with them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/documents/source_document.h"
#include "fetchers/engines/index/list_builder.h"

namespace metafuse::fetchers {

/// The column names as `"title", "text"`, or one `?` per column.
std::string joined_columns(const std::vector<std::string>& columns, bool as_marks = false);

/// The structure of an index: its lists of words with the text columns, and the numbers.
struct IndexShape {
  ListShape lists;
  std::vector<std::string> numbers;
};

/// out:    the shape with which an index was made
/// errors: those of read_list_shape()
Result<IndexShape> shape_of_index(SqliteDatabase& database);

inline constexpr std::size_t kMaxColumns = 64;

/// Checks that a document's field can be a column of an index.
/// in:     place - of the document, for errors
/// errors: bad_data: letters, digits and _ only
Result<void> check_column_name(std::string_view name, const std::string& place);

/// Fields of a document that an index has no column for yet.
struct NewFields {
  std::vector<std::string> texts, numbers;

  bool empty() const { return texts.empty() && numbers.empty(); }
};

/// Checks that a document can be in some index.
/// errors: bad_data: no URL, or a field that cannot be a column
Result<void> check_document(const SourceDocument& document);

/// The fields with which a document widens an index.
/// errors: bad_data: a field is a text in one and a number in the other; too many fields
Result<NewFields> new_fields(const IndexShape& shape, const SourceDocument& document);

}  // namespace metafuse::fetchers
