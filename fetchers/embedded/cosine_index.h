#pragma once

// How alike texts are by the words, the English stems and the character 4-grams that they share.
// `cosine_parts` of the index's file holds, for each such part, in how many documents it stands and its
// postings; `cosine_lengths` holds three floats per document, the lengths of its vectors of words, stems and
// 4-grams; meta's row "cosine" says how many documents there are, and is another one for other lengths.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/embedded/word_finder.h"

namespace metafuse::fetchers {

inline constexpr std::size_t kPartKinds = 3;  ///< words, stems, 4-grams

/// A part of a text: its kind and itself in one, as it is stored.
struct TextPart {
  std::size_t kind = 0;
  std::string key;  ///< a letter for the kind, and the part
  std::uint32_t count = 1;
};

/// The parts of one word. 4-grams are of Unicode characters, with a blank before and after the word.
/// in: stems - finds Porter's stem
Result<std::vector<TextPart>> parts_of_word(std::string_view word, WordFinder& stems);

/// One document of a part's postings.
struct Posting {
  std::uint32_t document = 0;  ///< its id
  std::uint32_t count = 0;
};

/// Postings as bytes: differences of ids and counts, seven bits a byte, the lowest first.
std::string encoded_postings(const std::vector<Posting>& postings);
/// False where the bytes are no postings with ids from 1 to `last_id`.
bool decode_postings(std::string_view bytes, std::uint32_t last_id, std::vector<Posting>& out);

/// The weight of a part: 1 + ln(count), times ln(1 + documents / those that have it).
double part_weight(std::uint32_t count, std::size_t documents, std::size_t with_part);

/// Writes the tables from the words of titles and texts in `words_table` (FTS5, without stems), inside the
/// caller's transaction; what was there is replaced.
///
/// in:     last_id - of the documents; the first is 1
/// errors: those of SQLite; try_again: interrupted
/// cost:   one pass over the words in titles and texts; memory for 24 bytes per document, the different
///         words, and the documents of one part
Result<void> write_cosine(SqliteDatabase& database, const std::string& words_table, std::size_t last_id,
                          const std::function<bool()>& is_interrupted);

/// True for an index that has them.
bool has_cosine(SqliteDatabase& database);
Result<void> drop_cosine(SqliteDatabase& database);

}  // namespace metafuse::fetchers
