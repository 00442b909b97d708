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

/// Returns the query syntax that an engine declares. An empty function means the default syntax for
/// all engines.
using SyntaxLookup = std::function<const QuerySyntax&(std::string_view engine)>;

/// Limits of an expansion. The defaults suit templates that the operator has written.
struct ExpansionLimits {
  std::size_t max_queries = 10'000;
  std::size_t max_query_bytes = std::size_t{1} << 20;
};

/// Expands a base query by every search template of its domain, for each of the template's engines, in the
/// order of the file.
///
/// in:     base_query - values of the domain's slots; a value of only white space counts as absent
/// out:    one expanded query per template and engine. No value can change the structure of a query.
/// errors: usage: a slot that the domain does not have, a required slot without a letter or digit, a value
///         longer than 4 KB, more or longer queries than the limits allow; bad_config: a template that cannot
///         be parsed (impossible for a domain read from a file)
/// cost:   O(characters of templates and values), a few microseconds per template
/// source: Freund, Iyer, Schapire, Singer 2003, sec. 2.1
Result<std::vector<ExpandedQuery>> expand(const Domain& domain, const BaseQuery& base_query,
                                          const SyntaxLookup& syntax_of = {},
                                          const ExpansionLimits& limits = {});

/// A base query of which one slot was typed by a user and may contain conditions.
struct TypedBaseQuery {
  BaseQuery base;          ///< the typed slot holds only the plain words
  std::string typed_slot;  ///< empty: no slot was typed
  TypedQuery typed = {};
};

/// Like expand(), with the conditions of what was typed. Phrases and alternatives are kept in the slot if its
/// filters keep them. Every condition that the engine's syntax can express is appended to its queries.
Result<std::vector<ExpandedQuery>> expand_asked(const Domain& domain, const TypedBaseQuery& asked,
                                                const SyntaxLookup& syntax_of = {},
                                                const ExpansionLimits& limits = {});

/// Turns a typed query into a base query: its words fill the slot QUERY, or the first required slot. Values
/// of slots given by name are never read as conditions.
///
/// in:     slots - values given besides the text
/// errors: usage: the domain has no such slot, or `slots` has it with another value; or the text is longer
///         than kMaxTypedBytes, has no letter or digit apart from its conditions, or has more than
///         kMostConditions of them
Result<TypedBaseQuery> plain_base_query(const Domain& domain, std::string_view text, BaseQuery slots = {});

}  // namespace metafuse::templates
