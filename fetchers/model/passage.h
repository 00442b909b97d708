#pragma once

#include <string>
#include <vector>

namespace metafuse::fetchers {

/// The part of a document's text that answers a query best, on one line.
struct Passage {
  std::string text;                ///< empty if the engine does not keep the document's text
  std::vector<std::string> words;  ///< that match the query, as the passage spells them, each once
};

}  // namespace metafuse::fetchers
