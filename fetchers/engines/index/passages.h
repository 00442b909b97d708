#pragma once

// Chooses the part of a document's text that answers a query best.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/keyed_hash.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/model/passage.h"

namespace metafuse::fetchers {

/// A word that a query asks for.
struct PassageWord {
  std::string folded;
  double weight = 1;  ///< above 0; rare words say more
};

/// The words of a query, to be found in texts of one language. Not thread-safe.
class PassageWords {
 public:
  /// in: language - an ISO 639-1 code, whose stems words are compared by
  PassageWords(const std::vector<PassageWord>& words, const std::string& language);

  /// The number of the asked word that a folded word of a text is a form of; -1 for none.
  int number_of(std::string_view folded);
  std::size_t size() const { return weights_.size(); }
  double weight(std::size_t number) const { return weights_[number]; }

 private:
  WordForms forms_;
  std::vector<double> weights_;
  TextMap<int> by_stem_;
  TextMap<int> known_;  ///< words of texts that were looked up before
};

/// How long the passages that results show are, in bytes.
inline constexpr std::size_t kPassageBytes = 240;

/// The passage with the most weight of different words; of equals, the one whose words stand together as in
/// the query, then the first. It begins and ends with a sentence if its sentences are short enough, else "…"
/// shows that words are left out.
///
/// in:     text - valid UTF-8; an empty line ends a paragraph
/// out:    an empty text if no word occurs
/// cost:   O(bytes)
Passage best_passage(std::string_view text, PassageWords& words, std::size_t max_bytes = kPassageBytes);

/// The beginning of a text on one line, up to the end of a sentence if one ends in its second half, else with
/// "…" behind the last whole word.
std::string beginning_of_text(std::string_view text, std::size_t max_bytes);

}  // namespace metafuse::fetchers
