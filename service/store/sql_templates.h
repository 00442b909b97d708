#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service::sql {

// Versions of template files; each as the function of Store of the same name.

Result<std::uint32_t> add_template_version(SqlDatabase& database, const TemplateVersion& version);
Result<std::vector<TemplateVersion>> template_versions(SqlDatabase& database, std::string_view domain);
Result<std::optional<TemplateVersion>> find_template_version(SqlDatabase& database, std::string_view domain,
                                                             std::uint32_t number);

}  // namespace metafuse::service::sql
