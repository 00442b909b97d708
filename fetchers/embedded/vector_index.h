#pragma once

// Vectors in the embedded index's file. `vectors` holds a row in half precision for each document that has
// one (its id is that of `pages`), `lsi_words` a row of four-byte floats for each word where the vectors are
// made by latent semantic indexing, and meta's row "embedding" says how they were made.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"

namespace metafuse::fetchers {

/// Vectors of texts, one for each, all of one size.
using EmbedTexts = std::function<Result<std::vector<std::vector<float>>>(std::span<const std::string> texts)>;

/// How `metafuse index` makes vectors of documents.
struct VectorOptions {
  enum class Source { none, lsi, endpoint };

  Source source = Source::none;
  std::size_t dimensions = 200;  ///< of latent semantic indexing
  EmbedTexts embed;              ///< of an endpoint
  std::string model;             ///< of an endpoint: vectors of different models are not comparable
};

/// What meta says of the vectors in an index.
struct VectorMeta {
  VectorOptions::Source source = VectorOptions::Source::none;
  std::string model;
  std::size_t dimensions = 0;
  bool stems_english = false;  ///< how words are found, for latent semantic indexing
};

/// errors: bad_data: a value that no program of ours writes
/// out:    source none where the index has no vectors
Result<VectorMeta> read_vector_meta(SqliteDatabase& database, const std::string& path);

/// What the writing of vectors needs beside the options.
struct VectorWriting {
  std::size_t last_id = 0;        ///< of `documents` (FTS5) and `pages`; the first is 1
  std::vector<std::int64_t> ids;  ///< that an endpoint's vectors are wanted for
  std::function<Result<std::string>(std::int64_t id)> text_of;
  bool stems_english = false;
  unsigned threads = 1;
  std::function<bool()> is_interrupted;
  ProgressReport progress;
};

/// Makes the vectors of an index that is being written, inside its transaction. Latent semantic indexing
/// makes all of them anew; an endpoint's are made for `ids`, and the other rows stay.
///
/// errors: bad_data: the documents have no words in common; those of the endpoint and of SQLite;
///         try_again: interrupted
/// out:    how many dimensions they have
Result<std::size_t> write_vectors(SqliteDatabase& database, const VectorOptions& options,
                                  const VectorWriting& writing);

}  // namespace metafuse::fetchers
