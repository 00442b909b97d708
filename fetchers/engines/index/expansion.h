#pragma once

// A query expanded by the words of its own best results (pseudo-relevance feedback).

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_search.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// Adds words to queries. Not thread-safe.
class Expander {
 public:
  /// errors: bad_config: the index keeps no terms; those of SQLite
  static Result<Expander> open(SqliteDatabase& database, const std::string& path);

  /// The query with the words of its best results. What it required of documents remains required.
  ///
  /// in:     best - the best results of `asked`, with scores; excluded - forms that are never added
  /// errors: bad_data: damaged; those of SQLite
  /// source: Lavrenko, Croft 2001; Abdul-Jaleel and others 2004 (RM3). Differs from RM3: weights are relative
  ///         to the best word, because the sums of I(n_e)B2 and BM25 take them, not a language model.
  Result<AskedQuery> expanded(const AskedQuery& asked, const std::vector<ScoredDocument>& best,
                              const Expansion& expansion, const DocumentLengths& lengths,
                              const std::set<std::string>& excluded);

 private:
  SqliteStatement terms_;  ///< of a document
  SqliteStatement word_;   ///< by its id
};

}  // namespace metafuse::fetchers
