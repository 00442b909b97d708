#pragma once

// What a word contributes to the score of a document. All weightings rise with the word's frequency and fall
// with the document's length, which the bounds of word_search.h rely on.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// A collection, as far as weightings know it.
struct Collection {
  double documents = 0;
  double average_length = 0;
};

/// A word in a collection.
struct WordStatistics {
  double documents = 0;  ///< with the word
  double frequency = 0;  ///< of the word in all documents together
};

/// The lengths of documents, as a weighting needs them.
class LengthNorms {
 public:
  LengthNorms(Weighting weighting, const Collection& collection)
      : weighting_(weighting), average_(collection.average_length) {
    for (std::uint32_t length = 0; length < kKept; ++length) kept_.push_back(computed(length));
  }

  double of(std::uint32_t length) const { return length < kKept ? kept_[length] : computed(length); }

 private:
  static constexpr std::uint32_t kKept = 512;
  static constexpr double kB = 0.75;
  static constexpr double kK1 = 1.2;

  double computed(std::uint32_t length) const {
    if (weighting_ == Weighting::bm25) return kK1 * (1 - kB + kB * static_cast<double>(length) / average_);
    // a document without words is found by no word, but bounds ask for its length
    return std::log2(1 + average_ / std::max(1.0, static_cast<double>(length)));
  }

  Weighting weighting_;
  double average_;
  std::vector<double> kept_;
};

/// One word's share of a document's score.
///
/// source: bm25: Robertson, Zaragoza 2009, eq. (3.15), k1 = 1.2, b = .75, with SQLite's inverse document
///         frequency; ineb2: Amati, van Rijsbergen 2002, the model I(n_e)B2 with c = 1. The frequencies of
///         columns are weighted and summed up.
class WordShare {
 public:
  WordShare(Weighting weighting, const Collection& collection, const WordStatistics& word)
      : weighting_(weighting),
        factor_(weighting == Weighting::bm25 ? inverse_frequency(collection, word) * 2.2
                                             : divergence(collection, word)) {}

  /// in:     frequency - of the word in the document; norm - LengthNorms::of the document's length
  double of(double frequency, double norm) const {
    if (weighting_ == Weighting::bm25) return factor_ * frequency / (frequency + norm);
    const double normalised = frequency * norm;
    return factor_ * normalised / (normalised + 1);
  }

 private:
  /// ln((N - n + .5) / (n + .5)); 1e-6 if that is not positive.
  static double inverse_frequency(const Collection& collection, const WordStatistics& word) {
    const double value = std::log((collection.documents - word.documents + 0.5) / (word.documents + 0.5));
    return value <= 0 ? 1e-6 : value;
  }

  /// (F + 1) / n times log2((N + 1) / (n_e + .5)), where n_e = N (1 - (1 - 1/N)^F) documents are expected to
  /// have the word.
  static double divergence(const Collection& collection, const WordStatistics& word) {
    if (word.documents <= 0) return 0;
    const double all = collection.documents;
    const double expected = all * (1 - std::pow(1 - 1 / all, word.frequency));
    return (word.frequency + 1) / word.documents * std::log2((all + 1) / (expected + 0.5));
  }

  Weighting weighting_;
  double factor_;
};

}  // namespace metafuse::fetchers
