#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/query_syntax.h"
#include "service/base/word_match.h"
#include "service/config/snapshot.h"
#include "service/search/search_request.h"
#include "templates/typed_query.h"

namespace metafuse::service {

struct SearchAnswer;

/// What a request typed beside its slots; empty where it gives the slot of plain queries by name.
templates::TypedQuery typed_query_of(const LoadedDomain& domain, const SearchRequest& request);

/// Checks results against the conditions of a typed query, made ready once per answer.
class ConditionCheck {
 public:
  explicit ConditionCheck(const templates::TypedQuery& typed);

  bool is_empty() const { return conditions_.empty(); }

  /// Whether a result may be shown. Excluded words and sites are looked for in what is shown of it,
  /// whatever its engines promise. Of what a result need not show (a phrase of its text, the ending of
  /// its address, its date, its whole title), an engine that was told is believed; without such an engine
  /// it must show it.
  ///
  /// in: syntaxes - of the engines whose lists hold the result
  bool is_met(const Hit& hit, const std::vector<const QuerySyntax*>& syntaxes) const;

 private:
  struct Checked {
    templates::Condition condition;
    FoldedText words;
  };

  std::vector<Checked> conditions_;
};

/// Takes out of an answer what does not meet the conditions of its query, and counts it.
void leave_out_unwanted(const LoadedDomain& domain, SearchAnswer& answer);

/// The ending of a URL's path in small letters, "pdf"; empty when there is none.
std::string file_type_of(std::string_view url);

}  // namespace metafuse::service
