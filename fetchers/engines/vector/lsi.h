#pragma once

// Latent semantic indexing: vectors of documents and queries, trained on the documents themselves, so that
// hybrid search needs no other program. Words that occur in similar documents get similar vectors.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// Which words occur in which documents, stored word by word.
struct WordCounts {
  std::vector<std::string> words;
  std::vector<std::size_t> begins{0};    ///< where each word's entries begin, and the end of the last
  std::vector<std::uint32_t> documents;  ///< of each entry; ascending within a word
  std::vector<float> counts;             ///< of each entry: how often the word occurs there, at least 1
  std::size_t document_count = 0;
};

struct LsiOptions {
  std::size_t dimensions = 200;  ///< fewer if the documents span fewer
  std::size_t oversampling = 10;
  std::size_t iterations = 4;
  std::size_t max_documents = 100'000;  ///< to train on, sampled evenly from all
  std::uint64_t seed = 1;
  unsigned threads = 1;
  IsInterrupted is_interrupted;
};

/// A vector per word. The vector of a text is the sum of its words' rows, each times ln(1 + count), scaled to
/// length 1.
struct LsiModel {
  std::size_t dimensions = 0;
  std::vector<float> rows;  ///< words x dimensions: right singular vectors times the global word weight

  std::span<const float> row(std::size_t word) const { return {rows.data() + word * dimensions, dimensions}; }
};

/// Trains the word vectors: the leading right singular vectors of the documents x words matrix with entries
/// ln(1 + count) x entropy weight, its rows scaled to length 1.
///
/// in:     counts - words that occur in a single document only cost time
/// errors: bad_data: no words, or documents without words in common; try_again: interrupted
/// cost:   2 (iterations + 1) passes over the entries times the dimensions, and as many orthogonalisations of
///         words x dimensions. The result has the same bytes for any number of threads.
/// source: Deerwester, Dumais, Furnas, Landauer, Harshman 1990 (the method); Dumais 1991 (log-entropy
///         weights); Halko, Martinsson, Tropp 2011, algorithms 4.4 and 5.1 (randomised subspace iteration)
Result<LsiModel> train_lsi(const WordCounts& counts, const LsiOptions& options);

/// The vectors of all documents: documents x dimensions, each of length 1, or zero if the document has no
/// known word.
/// cost:   one pass over the entries times the dimensions
std::vector<float> document_vectors(const WordCounts& counts, const LsiModel& model, unsigned threads);

}  // namespace metafuse::fetchers
