#pragma once

// Latent semantic indexing: vectors of documents and queries that are trained on the documents themselves, so
// that hybrid search needs no other program. Words that stand in similar documents get similar vectors.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// Which words stand in which documents, word by word.
struct WordCounts {
  std::vector<std::string> words;
  std::vector<std::size_t> begins{0};    ///< of each word's entries, and the end of the last
  std::vector<std::uint32_t> documents;  ///< of an entry; ascending within a word
  std::vector<float> counts;             ///< how often the word stands there, at least 1
  std::size_t document_count = 0;
};

struct LsiOptions {
  std::size_t dimensions = 200;  ///< fewer where the documents do not span so many
  std::size_t oversampling = 10;
  std::size_t iterations = 4;
  std::size_t max_documents = 100'000;  ///< that the words' vectors are trained on, spread evenly over all
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::function<bool()> is_interrupted;
};

/// A vector for each word. The vector of a text is the sum of its words' rows, each times ln(1 + count),
/// scaled to length 1.
struct LsiModel {
  std::size_t dimensions = 0;
  std::vector<float> rows;  ///< words x dimensions: the right singular vectors times the word's global weight

  std::span<const float> row(std::size_t word) const { return {rows.data() + word * dimensions, dimensions}; }
};

/// Trains the words' vectors: the leading right singular vectors of the documents x words matrix with entries
/// ln(1 + count) x entropy weight, its rows scaled to length 1.
///
/// in:     counts - words that stand in at least two documents are worth having
/// errors: bad_data: no word, or the documents have nothing in common; try_again: interrupted
/// cost:   2 (iterations + 1) passes over the entries times the dimensions, and as many orthogonalisations of
///         words x dimensions; the same bytes for any number of threads
/// source: Deerwester, Dumais, Furnas, Landauer, Harshman 1990 (the method); Dumais 1991 (log-entropy
///         weights); Halko, Martinsson, Tropp 2011, algorithms 4.4 and 5.1 (randomised subspace iteration)
Result<LsiModel> train_lsi(const WordCounts& counts, const LsiOptions& options);

/// The vectors of all documents, documents x dimensions, of length 1; zero where a document has no
/// known word.
/// cost:   one pass over the entries times the dimensions
std::vector<float> document_vectors(const WordCounts& counts, const LsiModel& model, unsigned threads);

}  // namespace metafuse::fetchers
