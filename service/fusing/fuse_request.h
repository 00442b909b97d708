#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::service {

/// One result in a caller's list.
struct CallerResult {
  std::uint32_t document = 0;           ///< index into FuseRequest::documents
  double score = 0;                     ///< 0 without a score
  const JsonObject* members = nullptr;  ///< the result as it was sent; nullptr if it has only id and score
};

/// A caller's list, best first: position 0 has rank 1, and no document occurs twice.
struct CallerList {
  std::string name;
  double weight = 1;
  bool has_weight = false;
  bool has_scores = true;  ///< every result has a score
  std::vector<CallerResult> results;
};

/// One request to fuse, read and checked. It points into the JSON that it was read from, which must
/// outlive it.
struct FuseRequest {
  std::string domain;                            ///< empty: `method` fuses
  const fusion::FusionMethod* method = nullptr;  ///< nullptr: the domain's model fuses
  fusion::FusionOptions options;
  std::string text;
  BaseQuery slots;
  std::vector<std::string_view> documents;  ///< identities, in the order in which the lists first name them
  std::deque<std::string> keys;             ///< owns the identities that were made from URLs
  std::vector<CallerList> lists;
  std::vector<std::uint32_t> ranks;  ///< documents x lists; 0 if the list does not hold the document
  std::size_t limit = 0;             ///< results in the answer, 0 for all
  bool is_explained = false;
  std::vector<std::string> notices;  ///< warnings for the caller about a request that is accepted

  std::uint32_t rank(std::size_t document, std::size_t list) const {
    return ranks[document * lists.size() + list];
  }
  /// Requires that some list holds the document, which is so for every document of a request.
  std::uint32_t best_rank(std::size_t document) const;
};

/// errors: usage, naming the wrong member, list and result
Result<FuseRequest> read_fuse_request(const JsonObject& body, const TrackingParameters& tracking);

}  // namespace metafuse::service
