#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service::sql {

// What people said of results; each as the function of Store of the same name.

Result<ClickOutcome> add_click(SqlDatabase& database, const Click& click, const ClickCaps& caps);
Result<std::vector<Click>> clicks_of(SqlDatabase& database, std::string_view search);
Result<std::vector<std::string>> clicked_searches(SqlDatabase& database, std::string_view domain,
                                                  std::size_t limit);
Result<void> set_judgment(SqlDatabase& database, const StoredJudgment& judgment);
Result<std::vector<JudgedQuery>> judged_queries(SqlDatabase& database, std::string_view domain);
Result<InterleavingCounts> interleaving_counts(SqlDatabase& database, std::string_view domain,
                                               std::string_view champion, std::string_view challenger);

}  // namespace metafuse::service::sql
