#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/query.h"

namespace metafuse::service {

/// A query that the caller expanded itself. Its list is one more list under the name of a declared template.
struct QueryVariant {
  std::string template_id;
  std::string text;
  bool is_raw = false;  ///< sent unchanged, without the engine's syntax filter
};

/// One search, independent of the dialect of the request.
struct SearchRequest {
  std::string domain;  ///< empty for the default domain
  std::string text;    ///< a plain query: fills the slot QUERY or the first required one
  BaseQuery slots;
  std::vector<QueryVariant> variants;
  std::vector<std::string> alternatives{};  ///< further plain queries, asked as far as there is room
  std::vector<std::string> synonyms{};      ///< the same query in other words, asked as far as there is room
  std::vector<std::string> engines;         ///< only these engines' features; empty for all
  std::vector<std::string> lists;           ///< only these features, "TEMPLATE@ENGINE"; empty for all
  bool asks_all = false;                    ///< asks for all lists, even if the domain selects some
  int depth = 0;                            ///< results per list, 0 for the domain's depth
  int page = 1;
  std::size_t results = 0;  ///< how far down the answer the reader looks; 0: no further than the lists
  std::string language;
  std::string time_range;
  int safe_search = 0;
  double deadline_seconds = 0;  ///< 0 for the configuration's deadline
  double min_relevance = 0;     ///< results below it are not shown; 0: all are
  int hops = 0;                 ///< how many meta-search servers the query has passed through
  /// Headers of the searching client that some engine passes on to its backend.
  std::vector<std::pair<std::string, std::string>> forwarded{};
  /// `engines` are those of the domain that the client may ask; it named none itself.
  bool are_engines_allowed_ones = false;

  /// Looks as far down the answer as this page of so many results, counted from 1, needs.
  void set_page(int number, int limit) {
    page = number;
    results = static_cast<std::size_t>(number) * static_cast<std::size_t>(limit);
  }
  /// Whether a list is among those that the request names, if it names any.
  ///
  /// in: engine - empty for a list that is made here
  bool wants(const std::string& engine, const std::string& list) const {
    const auto names = [](const std::vector<std::string>& named, const std::string& name) {
      return named.empty() || std::find(named.begin(), named.end(), name) != named.end();
    };
    return (engine.empty() || names(engines, engine)) && names(lists, list);
  }
  /// Whether a variant skips the syntax filter, which needs a key with the role raw.
  bool has_raw() const {
    return std::any_of(variants.begin(), variants.end(),
                       [](const QueryVariant& variant) { return variant.is_raw; });
  }
};

}  // namespace metafuse::service
