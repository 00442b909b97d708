#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/sql_database.h"

namespace metafuse::service {

/// What keeps queries from being linked to people: the store's secret, the daily salts, and queries that are
/// stored only as digests.
class QueryPrivacy {
 public:
  QueryPrivacy(SqlDatabase& database, std::string secret_file);

  /// The store's secret: 32 random bytes in hexadecimal digits, which never change. It is kept in a file
  /// outside of the database (see open_store()).
  ///
  /// errors: bad_config: the file holds another store's secret; no_input: the file is missing
  Result<std::string> secret();
  /// The secret salt of one day.
  Result<std::string> daily_salt(std::int64_t day, TimePoint end = TimePoint::max());
  /// Destroys what could link clicks from before the previous day: the salts of those days, then the hashes
  /// of address prefixes, in several transactions. Servers whose clocks are behind need the previous day's.
  Result<void> forget_addresses(std::int64_t today);

  /// Recomputes the digests of a domain's stored queries and judgments by query_digest(), in one transaction.
  /// Of two judgments that become the same, the later one stays. Searches without slots keep their digests.
  ///
  /// in:  plain_slot - see canonical_query()
  /// out: number of digests that changed
  Result<std::uint64_t> unify_queries(std::string_view domain, std::string_view plain_slot);
  /// The plain slot of the last unify_queries() for a domain; empty if it had none or was never called.
  Result<std::string> plain_slot(std::string_view domain);
  /// Notes that queries are kept only as digests. Removes slots and replaces documents by hashed_document(),
  /// in several transactions. If it is interrupted, it can be called again.
  Result<void> hide_queries();
  /// Notes that the words of queries may be kept from now on.
  Result<void> allow_words();
  /// Whether queries are kept only as digests, as the last server of the store said.
  Result<bool> are_queries_hidden();

 private:
  Result<std::string> meta(std::string_view name, Wait wait = {});
  Result<std::string> remembered(std::string_view name, Wait wait);
  Result<std::string> secret_in_file();

  SqlDatabase& database_;
  std::string secret_file_;
  std::mutex secret_mutex_;
  std::string secret_;  ///< empty until it was read
};

}  // namespace metafuse::service
