#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "templates/search_template.h"

namespace metafuse::templates {

/// A domain as read, with what a user should hear about it although it is no mistake.
struct DomainFile {
  Domain domain;
  std::vector<std::string> warnings;  ///< "NAME:LINE:COLUMN: ..."
};

/// Reads the search templates of one domain.
///
/// errors: bad_config, all mistakes of the file at once, each line "NAME:LINE:COLUMN: ...": YAML syntax,
///         unknown, missing or duplicate keys, wrong types and ranges, unknown slots and filters, duplicate
///         ids, and every mistake inside a query's text at its own place; no_input when the file cannot be
///         read
Result<DomainFile> read_domain_file(const std::string& path);
Result<DomainFile> parse_domain_file(std::string_view text, std::string_view name);

}  // namespace metafuse::templates
