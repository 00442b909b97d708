#pragma once

#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "core/tracking_parameters.h"

namespace metafuse::service {

/// A base query with what is known of the right answers.
struct JudgedBaseQuery {
  struct Relevant {
    std::string url;
    std::string key;  ///< canonical
    int grade = 1;
  };
  std::string id;
  BaseQuery slots;
  std::vector<Relevant> relevant;
};

/// Reads JSON lines {"id","slots":{...},"relevant":[{"url","grade"}]}.
///
/// errors: bad_data with "FILE:LINE: ...": no such object, an id that stands twice or holds blanks, a slot
///         that is no text, a grade that is no whole number, a URL that is none
Result<std::vector<JudgedBaseQuery>> read_judged_queries(
    const std::string& path, const TrackingParameters& tracking = default_tracking_parameters());

}  // namespace metafuse::service
