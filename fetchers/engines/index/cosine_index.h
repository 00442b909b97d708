#pragma once

// Similarity of texts by the words, English stems and character 4-grams that they share. In the index's file,
// `cosine_parts` holds the postings of each such part and the number of documents that contain it.
// `cosine_lengths` holds three floats per document: the lengths of its vectors of words, stems and 4-grams.
// The row "cosine" of `meta` holds the number of documents, and differs whenever the lengths differ.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/word_finder.h"

namespace metafuse::fetchers {

inline constexpr std::size_t kPartKinds = 3;  ///< words, stems, 4-grams

/// A part of a text: a word, a stem or a 4-gram.
struct TextPart {
  std::size_t kind = 0;
  std::string key;  ///< as stored: a letter for the kind, then the part
  std::uint32_t count = 1;
};

/// The parts of one word. 4-grams consist of Unicode characters and include a blank before and after
/// the word.
/// in:     stems - finds Porter's stems
Result<std::vector<TextPart>> parts_of_word(std::string_view word, WordFinder& stems);

/// Encodes postings: differences of ids, and counts, in seven bits per byte, lowest first.
std::string encoded_postings(const std::vector<Posting>& postings);
/// False if the bytes are not valid postings with ids from 1 to `last_id`.
bool decode_postings(std::string_view bytes, std::uint32_t last_id, std::vector<Posting>& out);

/// The weight of a part: (1 + ln(count)) times ln(1 + documents / with_part).
double part_weight(std::uint32_t count, std::size_t documents, std::size_t with_part);

/// Writes the tables from the words of titles and texts in `words_table` (FTS5, without stems), inside the
/// caller's transaction. Existing contents are replaced.
///
/// in:     last_id - the largest document id; the smallest is 1
/// errors: those of SQLite; try_again: interrupted
/// cost:   one pass over the words in titles and texts; memory for 24 bytes per document, the distinct words,
///         and the documents of one part
Result<void> write_cosine(SqliteDatabase& database, const std::string& words_table, std::size_t last_id,
                          const IsInterrupted& is_interrupted);

/// True for an index that has these tables.
bool has_cosine(SqliteDatabase& database);
Result<void> drop_cosine(SqliteDatabase& database);

}  // namespace metafuse::fetchers
