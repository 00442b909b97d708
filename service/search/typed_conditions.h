#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/query_syntax.h"
#include "service/base/word_match.h"
#include "service/config/snapshot.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"
#include "templates/typed_query.h"

namespace metafuse::service {

struct FusedResult;
struct SearchAnswer;

/// Sets the answer's typed query and the conditions of the request's further ones. Those of a synonym are not
/// what the reader typed.
void set_typed(const SearchRequest& request, SearchAnswer& answer);

/// Checks results against the conditions of a typed query, which are prepared once per answer.
class ConditionCheck {
 public:
  explicit ConditionCheck(const std::vector<templates::Condition>& conditions);

  bool is_empty() const { return conditions_.empty(); }

  /// For each condition, whether a result's whole text contains its words; nullopt if that is not known.
  /// Empty if nothing is known.
  using Contained = std::vector<std::optional<bool>>;

  /// What the indexes of a domain that anybody may search know of the texts of results. An index that cannot
  /// be read knows nothing.
  ///
  /// in:     deadline - what is not known by then stays unknown
  /// out:    one per result
  /// cost:   nothing without phrases and excluded words; else per index a look-up per result, and per
  ///         condition the lists of its words around the results
  std::vector<Contained> contained(const LoadedDomain& domain, const std::vector<FusedResult>& results,
                                   const Deadline& deadline) const;

  /// Whether a result may be shown. Excluded words, sites and file types are always checked in the result's
  /// visible text and address. Some conditions concern what a result need not show. About a phrase, the index
  /// that has the whole text decides. Otherwise, as for the ending of its address, its date and its whole
  /// title: if an engine was sent the condition and returned the result, it counts as met, else the result
  /// itself must show it.
  ///
  /// in:     syntaxes - of the engines whose lists contain the result
  bool is_met(const Hit& hit, const std::vector<const QuerySyntax*>& syntaxes,
              const Contained& contained = {}) const;

 private:
  struct Checked {
    templates::Condition condition;
    FoldedText words;
    SiteSet site;
  };
  struct Seen;
  /// Whether the result itself shows what a condition names.
  static bool shows(const Seen& result, const Checked& one);

  std::vector<Checked> conditions_;
};

/// Removes the results that meet the conditions of none of the answer's typed queries, and counts them.
void leave_out_unwanted(const LoadedDomain& domain, SearchAnswer& answer);

/// The ending of a URL's path in lower case, such as "pdf"; empty if there is none.
std::string file_type_of(std::string_view url);

}  // namespace metafuse::service
