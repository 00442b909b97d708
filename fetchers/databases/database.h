#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/databases/sql_rows.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// A database that is asked by one statement with bound values, which can only read. Its calls block, from
/// any thread.
class Database {
 public:
  virtual ~Database() = default;

  /// errors: unavailable: no server there, or it turned us away; bad_config: it does not understand the
  ///         statement; try_again: not in time; bad_data: a value that it cannot take
  virtual Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) = 0;
};

/// in: access - with its secrets filled in; timeout - that the server itself gives a statement
std::unique_ptr<Database> make_postgresql(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_mariadb(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_mongodb(const DatabaseAccess& access, Duration timeout);
std::unique_ptr<Database> make_odbc(const DatabaseAccess& access, Duration timeout);

}  // namespace metafuse::fetchers
