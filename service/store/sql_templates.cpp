#include "service/store/sql_templates.h"

#include <string>

#include "service/store/sql_rows.h"

namespace metafuse::service::sql {

Result<std::uint32_t> add_template_version(SqlDatabase& database, const TemplateVersion& version) {
  std::int64_t number = 0;
  auto written = database.write([&](SqlSession& session) -> Result<void> {
    if (auto locked = session.lock("templates"); locked.has_error()) return locked;
    number = 0;
    std::string text;
    auto latest = session.run(
        "SELECT number, text FROM template_versions WHERE domain = $1 ORDER BY number DESC LIMIT 1",
        {version.domain}, [&](SqlRow row) -> Result<void> {
          number = integer_of(row[0]);
          text = text_of(row[1]);
          return {};
        });
    if (latest.has_error() || (number > 0 && text == version.text)) return latest;
    if (number >= kMaxTemplateVersions)
      return fail(Code::try_again, version.domain + ": " + std::to_string(number) +
                                       " versions are kept; export and remove old ones first");
    ++number;
    return session.run(
        "INSERT INTO template_versions (domain, number, text, author, at) VALUES ($1, $2, $3, $4, $5)",
        {version.domain, number, version.text, version.author, version.at});
  });
  if (written.has_error()) return written.error();
  return static_cast<std::uint32_t>(number);
}

Result<std::vector<TemplateVersion>> template_versions(SqlDatabase& database, std::string_view domain) {
  std::vector<TemplateVersion> versions;
  auto read = database.read([&](SqlSession& session) {
    return session.run(
        "SELECT domain, number, '', author, at FROM template_versions WHERE domain = $1 ORDER BY number "
        "DESC",
        {domain}, [&](SqlRow row) -> Result<void> {
          versions.push_back(read_template_row(row));
          return {};
        });
  });
  if (read.has_error()) return read.error();
  return versions;
}

Result<std::optional<TemplateVersion>> find_template_version(SqlDatabase& database, std::string_view domain,
                                                             std::uint32_t number) {
  std::optional<TemplateVersion> found;
  auto read = database.read([&](SqlSession& session) {
    return session.run("SELECT " + std::string(kTemplateColumns) +
                           " FROM template_versions WHERE domain = $1 AND number = $2",
                       {domain, std::int64_t{number}}, [&](SqlRow row) -> Result<void> {
                         found = read_template_row(row);
                         return {};
                       });
  });
  if (read.has_error()) return read.error();
  return found;
}

}  // namespace metafuse::service::sql
