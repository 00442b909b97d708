#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace metafuse::fetchers {

/// How well texts match a query, without an index of them.
struct TextScores {
  std::vector<double> words;  ///< by the words that they share: BM25 over stems
  std::vector<double> parts;  ///< by the 4-grams that they share: a cosine
};

/// Scores texts by the words and the parts of words that they share with a query. The texts themselves are
/// the collection from which the weights of words come, and their stop words tell the language of the stems.
///
/// out:    two scores per text, at least 0; 0 if it shares nothing with the query
/// cost:   O(bytes log bytes) of all texts; about 0.1 s per MiB
/// source: bm25 as in weighting.h, the cosine as in cosine_index.h
TextScores score_texts(std::string_view query, std::span<const std::string_view> texts);

}  // namespace metafuse::fetchers
