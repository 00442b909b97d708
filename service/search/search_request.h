#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/query.h"

namespace metafuse::service {

/// A query that the caller expanded itself: one more ranking feature under a declared template's name.
struct QueryVariant {
  std::string template_id;
  std::string text;
  bool is_raw = false;  ///< sent as it is, without the engine's syntax filter
};

/// What one search asks for, whatever dialect it came in.
struct SearchRequest {
  std::string domain;  ///< empty for the default domain
  std::string text;    ///< a plain query: fills the slot QUERY or the first required one
  BaseQuery slots;
  std::vector<QueryVariant> variants;
  std::vector<std::string> engines;  ///< only these engines' features; empty for all
  std::vector<std::string> lists;  ///< only these features, named as templates and engines are; empty for all
  int depth = 0;                   ///< results of each list, 0 for the domain's
  int page = 1;
  std::size_t results = 0;  ///< how far down the answer its reader looks; 0 for no further than the lists
  int windows = 1;          ///< of the domain's depth that each list is followed; see list_fusion.h
  std::string language;
  std::string time_range;
  int safe_search = 0;
  double deadline_seconds = 0;  ///< 0 for the configuration's
  int hops = 0;                 ///< meta-search servers that the query came through
  /// Headers of whoever searches that some engine passes on to its backend.
  std::vector<std::pair<std::string, std::string>> forwarded{};
};

}  // namespace metafuse::service
