#pragma once

#include <string>

#include "core/result.h"
#include "fetchers/embedded/sqlite_database.h"

namespace metafuse::fetchers {

// The embedded engine's file: `meta` says what it is; `documents` (FTS5, without content) holds the words of
// every column; `pages` holds what a result shows. A document has the same rowid in both.

/// The SQL that begins such a file.
inline constexpr const char* kCreateIndexMeta =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT);"
    "INSERT INTO meta VALUES('format','metafuse-index'),('version','1');";

/// What is said of a file that is no index. in: why - what it lacks
Error not_an_index(const std::string& path, const std::string& why);

/// errors: bad_data: another file, or an index of another version
Result<void> check_index_format(SqliteDatabase& database, const std::string& path);

}  // namespace metafuse::fetchers
