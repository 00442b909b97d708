#include "fetchers/embedded/index_format.h"

namespace metafuse::fetchers {

Error not_an_index(const std::string& path, const std::string& why) {
  return fail(Code::bad_data, path + ": no index of documents (" + why + "); build one with metafuse index");
}

Result<void> check_index_format(SqliteDatabase& database, const std::string& path) {
  auto meta = database.prepare(
      "SELECT value FROM meta WHERE name='version' AND EXISTS "
      "(SELECT 1 FROM meta WHERE name='format' AND value='metafuse-index')");
  if (!meta) return not_an_index(path, meta.error().text);
  auto row = meta->step();
  if (!row || !*row) return not_an_index(path, "it does not say so");
  if (meta->text(0) != "1") return not_an_index(path, "version " + std::string(meta->text(0)));
  return {};
}

}  // namespace metafuse::fetchers
