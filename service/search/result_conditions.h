#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "service/base/dates.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// What a request of some dialects demands of each result, beyond its query.
struct ResultConditions {
  std::vector<std::string> included;  ///< only results of these sites, subdomains included; empty: of all
  std::vector<std::string> excluded;  ///< no results of these
  std::string start_date;             ///< "2026-01-31"; results without a date are left out
  std::string end_date;
  int days = 0;        ///< maximum age of results that have a date; 0 for any age
  std::string phrase;  ///< must occur in the title or the snippet
  /// Of the relevance, or without a calibrated model of relative_score. What an operator decided stays.
  double least_score = 0;

  /// Whether it demands anything.
  bool is_set() const;
};

/// The positions in answer.results of those that meet the conditions, best first. What an operator hid is
/// left out.
///
/// in: now - for the age of results with a date, because engines need not support time ranges
std::vector<std::size_t> wanted_positions(const SearchAnswer& answer, const ResultConditions& conditions,
                                          UnixTime now);

}  // namespace metafuse::service
