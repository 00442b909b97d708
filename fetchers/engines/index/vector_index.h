#pragma once

// Vectors in the embedded index's file. `vectors` holds one row in half precision for each document that has
// a vector, with the document's id in `pages`. With latent semantic indexing, `lsi_words` holds one row of
// four-byte floats per word. The row "embedding" of `meta` says how the vectors were made.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/list_builder.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {

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
};

/// The list whose words latent semantic indexing learns from: stems if the index has them, else its first.
WordKind kind_of_vectors(const ListShape& shape);

/// errors: bad_data: a value that this program never writes
/// out:    source `none` if the index has no vectors
Result<VectorMeta> read_vector_meta(SqliteDatabase& database, const std::string& path);

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

}  // namespace metafuse::fetchers
