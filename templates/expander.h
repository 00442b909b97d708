#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/query_syntax.h"
#include "core/result.h"
#include "templates/search_template.h"

namespace metafuse::templates {

/// The query syntax that an engine declares. An empty function means the default syntax for all.
using SyntaxLookup = std::function<const QuerySyntax&(std::string_view engine)>;

/// What bounds an expansion; the defaults suit a file of one's own.
struct ExpansionLimits {
  std::size_t max_queries = 10'000;
  std::size_t max_query_bytes = std::size_t{1} << 20;
};

/// A base query expanded by every search template of its domain, each for each of its engines, in the order
/// of the file.
///
/// in:     base_query - values of the domain's slots; white space only counts as absent
/// out:    one expanded query per template and engine; no value can change a query's shape
/// errors: usage: a slot that the domain does not have, a required slot without a letter or digit, a value
///         longer than 4 KB, more or longer queries than the limits allow; bad_config: a template that does
///         not parse (never for a domain read from a file)
/// cost:   O(characters of templates and values), some microseconds per template
/// source: Freund, Iyer, Schapire, Singer 2003, sec. 2.1
Result<std::vector<ExpandedQuery>> expand(const Domain& domain, const BaseQuery& base_query,
                                          const SyntaxLookup& syntax_of = {},
                                          const ExpansionLimits& limits = {});

/// A plain query as a base query: it fills the slot QUERY, or the first required slot.
///
/// in:     slots - values given beside the text; one for the slot that the text fills stands, and the text is
///         left out then
/// errors: usage: the domain has no such slot, or the text has no letter or digit
Result<BaseQuery> plain_base_query(const Domain& domain, std::string_view text, BaseQuery slots = {});

}  // namespace metafuse::templates
