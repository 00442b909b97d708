#pragma once

// Vectors in the embedded index's file. `vectors` holds one row in half precision for each document that has
// a vector, with the document's id in `pages`. With latent semantic indexing, `lsi_words` holds one row of
// four-byte floats per word. The row "embedding" of `meta` says how the vectors were made.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/list_builder.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {

inline constexpr std::int64_t kMostLsiDimensions = 4096;

/// How `metafuse index` makes the vectors of documents.
struct VectorOptions {
  enum class Source { none, lsi, endpoint };

  Source source = Source::none;
  std::size_t dimensions = 200;  ///< for latent semantic indexing
  EmbedTexts embed;              ///< for an endpoint
  bool is_optional = false;      ///< documents without words in common get no vectors instead of an error
  std::string model;             ///< for an endpoint: vectors of different models are not comparable
};

/// What `meta` says about the vectors of an index.
struct VectorMeta {
  VectorOptions::Source source = VectorOptions::Source::none;
  std::string model;
  std::size_t dimensions = 0;
  std::size_t folded = 0;  ///< documents whose vectors latent semantic indexing was not trained on
};

/// The list whose words latent semantic indexing learns from: stems if the index has them, else its first.
WordKind kind_of_vectors(const ListShape& shape);

/// errors: bad_data: a value that this program never writes
/// out:    source `none` if the index has no vectors
Result<VectorMeta> read_vector_meta(SqliteDatabase& database, const std::string& path);

/// Whether an index is to have vectors of latent semantic indexing, even if it has too few documents yet.
bool wants_vectors(SqliteDatabase& database);

/// VectorOptions::dimensions of the vectors that latent semantic indexing wrote or is to write.
Result<std::size_t> wanted_dimensions(SqliteDatabase& database);

/// What write_vectors() needs besides the options.
struct VectorWriting {
  std::size_t last_id = 0;        ///< the first is 1
  std::vector<std::int64_t> ids;  ///< of the documents to send to an endpoint
  std::function<Result<std::string>(std::int64_t id)> text_of;
  unsigned threads = 1;
  IsInterrupted is_interrupted;
  ProgressReport progress;
};

/// Makes the vectors of an index that is being written, inside its transaction. Latent semantic indexing
/// recomputes all vectors. An endpoint computes those of `ids`; the other rows are kept.
///
/// errors: bad_data: the documents have no words in common; those of the endpoint and of SQLite;
///         try_again: interrupted
/// out:    the number of dimensions
Result<std::size_t> write_vectors(SqliteDatabase& database, const VectorOptions& options,
                                  const VectorWriting& writing);

Result<void> drop_vectors(SqliteDatabase& database);

/// The words of latent semantic indexing, from which the vectors of queries and of new documents are made.
/// Not thread-safe; the database must outlive it.
class LsiWords {
 public:
  static Result<LsiWords> open(SqliteDatabase& database, const std::string& path, std::size_t dimensions);

  /// The sum of the words' rows, each times ln(1 + count); not of length 1.
  /// errors: bad_data: damaged
  Result<std::vector<float>> vector_of(std::string_view text);

  /// Keeps the rows that are looked up from now on, up to so many bytes, for callers with many texts.
  void keep_rows(std::size_t most_bytes) { most_bytes_ = most_bytes; }

 private:
  Result<std::span<const float>> row_of(const std::string& word);

  std::string path_;
  std::size_t dimensions_ = 0;
  SqliteStatement row_;
  std::vector<WordForms> forms_;  ///< by language
  std::map<std::string, std::vector<float>> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t most_bytes_ = 0;
  std::vector<float> last_;  ///< the row that was looked up last
};

/// Gives documents vectors from the words that latent semantic indexing has learned already. Documents whose
/// words it does not know get none.
///
/// out:    how many documents have such vectors since the last training
Result<std::size_t> fold_in_vectors(SqliteDatabase& database, const VectorMeta& meta,
                                    const VectorWriting& writing);

}  // namespace metafuse::fetchers
