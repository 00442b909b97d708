#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/yaml_reader.h"
#include "templates/search_template.h"

namespace metafuse::templates {

/// A domain as read, with what a user should hear about it although it is no mistake.
struct DomainFile {
  Domain domain;
  std::vector<std::string> warnings;  ///< "NAME:LINE:COLUMN: ..."
};

/// What bounds a domain's file; the defaults suit a file of one's own.
struct DomainFileLimits {
  YamlLimits yaml;
  std::size_t max_templates = 10'000;
};

/// Reads the search templates of one domain.
///
/// errors: bad_config, all mistakes of the file at once (100 at most), each line "NAME:LINE:COLUMN: ...":
///         YAML syntax, unknown, missing or duplicate keys, wrong types and ranges, unknown slots and
///         filters, duplicate ids, every mistake inside a query's text at its own place, more than the limits
///         allow; no_input when the file cannot be read
Result<DomainFile> read_domain_file(const std::string& path);
Result<DomainFile> parse_domain_file(std::string_view text, std::string_view name,
                                     const DomainFileLimits& limits = {});

}  // namespace metafuse::templates
