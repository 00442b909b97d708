#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/query_syntax.h"
#include "core/result.h"
#include "templates/search_template.h"
#include "templates/typed_query.h"

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

/// A base query, one slot of which was typed with conditions.
struct AskedQuery {
  BaseQuery base;          ///< the plain words of what was typed in its slot
  std::string typed_slot;  ///< empty: nothing was typed
  TypedQuery typed = {};
};

/// The same with the conditions of what was typed: phrases and alternatives stand in the slot where its
/// filters keep them, and every query gets all conditions behind it that its engine's syntax can say.
Result<std::vector<ExpandedQuery>> expand_asked(const Domain& domain, const AskedQuery& asked,
                                                const SyntaxLookup& syntax_of = {},
                                                const ExpansionLimits& limits = {});

/// A typed query as a base query: its words fill the slot QUERY, or the first required slot. The values of
/// slots that are given by name are never read as conditions.
///
/// in:     slots - values given beside the text; one for the slot that the text fills stands, and the text is
///         left out then
/// errors: usage: the domain has no such slot, the text has no letter or digit beside its
///         conditions, or more than kMostConditions of them
Result<AskedQuery> plain_base_query(const Domain& domain, std::string_view text, BaseQuery slots = {});

}  // namespace metafuse::templates
