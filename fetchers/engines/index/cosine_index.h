#pragma once

// Similarity of titles and texts by the words, stems and 4-grams that they share. The lists of words
// (word_lists.h) hold which documents contain them; `cosine_lengths` adds three floats per document: the
// lengths of its vectors of words, stems and 4-grams. The row "cosine" of `meta` differs whenever
// the lengths differ.

#include <cstddef>
#include <cstdint>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/list_builder.h"

namespace metafuse::fetchers {

/// The columns `title` and `text`.
ColumnSet cosine_columns(const ListShape& shape);

/// The weight of a word, stem or 4-gram: (1 + ln(count)) times ln(1 + documents / with_it).
double part_weight(std::uint32_t count, std::size_t documents, std::size_t with_it);

/// Writes the lengths of all vectors from the index's lists, inside the caller's transaction. Existing
/// contents are replaced. Requires an index with every kind of list.
///
/// in:     last_id - the largest document id; the smallest is 1
/// errors: those of SQLite; bad_data: damaged; try_again: interrupted
/// cost:   one pass over all lists; memory for 24 bytes per document
Result<void> write_cosine(SqliteDatabase& database, const ListShape& shape, std::size_t last_id,
                          const IsInterrupted& is_interrupted);

/// True for an index that has these lengths.
bool has_cosine(SqliteDatabase& database);
Result<void> drop_cosine(SqliteDatabase& database);

}  // namespace metafuse::fetchers
