// Stands in for mariadb.cpp in a build without MariaDB's client library.

#include "fetchers/engines/sql/database.h"

namespace metafuse::fetchers {
namespace {

class NoMariadb final : public Database {
 public:
  using Database::Database;

  Result<RankedList> search(const SqlWindow&, const Deadline&) override {
    return left_out("MariaDB", "libmariadb-dev");
  }
};

}  // namespace

std::unique_ptr<Database> make_mariadb(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<NoMariadb>(access, timeout);
}

}  // namespace metafuse::fetchers
