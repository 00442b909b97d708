#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/yaml_reader.h"
#include "templates/search_template.h"

namespace metafuse::templates {

/// A domain as read from its file, with warnings for the user.
struct DomainFile {
  Domain domain;
  std::vector<std::string> warnings;  ///< "NAME:LINE:COLUMN: ..."
};

/// Limits of a domain's file. The defaults suit a file that the operator has written.
struct DomainFileLimits {
  YamlLimits yaml;
  std::size_t max_templates = 10'000;
};

/// Reads the search templates of one domain.
///
/// errors: bad_config, all mistakes of the file at once (at most 100), each line "NAME:LINE:COLUMN: ...":
///         YAML syntax, unknown, missing or duplicate keys, wrong types and ranges, unknown slots and
///         filters, duplicate ids, every mistake inside a query's text at its own position, exceeded limits;
///         no_input when the file cannot be read
Result<DomainFile> read_domain_file(const std::string& path);
Result<DomainFile> parse_domain_file(std::string_view text, std::string_view name,
                                     const DomainFileLimits& limits = {});

}  // namespace metafuse::templates
