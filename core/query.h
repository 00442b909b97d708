#pragma once

#include <map>
#include <string>

namespace metafuse {

/// What a user asks: a value for each slot of a domain's templates.
struct BaseQuery {
  std::map<std::string, std::string> slots;

  friend bool operator==(const BaseQuery&, const BaseQuery&) = default;
};

/// One search template applied to a base query, ready for one engine.
struct ExpandedQuery {
  std::string template_id;
  std::string engine;
  std::string text;

  /// The name of the ranking feature that this query's list becomes; that of a caller's list, which no engine made,
  /// is its own.
  std::string feature_name() const { return engine.empty() ? template_id : template_id + "@" + engine; }

  friend bool operator==(const ExpandedQuery&, const ExpandedQuery&) = default;
};

}  // namespace metafuse
