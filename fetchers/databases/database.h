#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/databases/sql_rows.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// How many unused connections to one database are kept for later searches.
inline constexpr std::size_t kMostIdleConnections = 8;

/// A database that is queried with one read-only statement with bound values. Calls block; they may come from
/// any thread.
class Database {
 public:
  virtual ~Database() = default;

  /// errors: unavailable: no server answers, or it rejected us; bad_config: it does not accept the statement;
  ///         try_again: not finished in time; bad_data: it cannot accept a value
  virtual Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) = 0;
};

/// in:     access - with its secrets filled in; timeout - the limit that the server itself sets on
///         a statement
std::unique_ptr<Database> make_postgresql(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_mariadb(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_mongodb(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_odbc(const DatabaseAccess& access, Duration timeout);

}  // namespace metafuse::fetchers
