#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"

namespace metafuse::fetchers {

/// What the documents of an embedded index say: for completing and correcting queries.
struct IndexWords {
  std::vector<std::string> titles;                         ///< in the order of the documents
  std::vector<std::pair<std::string, std::size_t>> words;  ///< folded, and in how many documents each stands
};

struct IndexWordsOptions {
  std::size_t most_titles = 200'000;
  std::size_t most_words = 100'000;
  std::size_t fewest_documents = 2;  ///< in which a word stands: a single one may be a typing error itself
};

/// in:     database - an index that `metafuse index` built
/// out:    no words for an index of word stems, which are no words
/// errors: no_input, bad_data: as LocalEngine::search()
/// cost:   one pass over the titles and one over the index's terms; 30,000 documents take some 50 ms
Result<IndexWords> read_index_words(const std::string& database, const IndexWordsOptions& options = {});

/// Counts documents of an embedded index by their words; for one thread.
class IndexCounter {
 public:
  /// errors: as read_index_words()
  static Result<IndexCounter> open(const std::string& database);

  /// How many documents hold at least one word of every group, up to `most`; 0 too where the
  /// index cannot say.
  std::size_t documents_with(const std::vector<std::vector<std::string>>& groups, std::size_t most);

 private:
  IndexCounter(SqliteDatabase database, SqliteStatement statement);

  SqliteDatabase database_;
  SqliteStatement statement_;
};

}  // namespace metafuse::fetchers
