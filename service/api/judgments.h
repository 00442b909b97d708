#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/api/finder.h"
#include "service/http/exchange.h"
#include "service/learning/judging.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/records.h"

// What /judge and /v1/judgments have in common. The gate has checked the role.

namespace metafuse::service {

/// How long storing grades waits until their search is written.
inline constexpr std::chrono::milliseconds kWrittenPatience{500};

/// One result as a judge sees it.
struct ResultToJudge {
  std::uint32_t position = 0;  ///< in the search's shown results, from 1
  Hit hit;
  std::optional<int> grade;  ///< that this judge gave earlier
};

/// The results of one base query, put before a judge.
struct ResultsToJudge {
  std::string search;  ///< its id
  std::string query;   ///< digest
  std::string text;
  std::vector<ResultToJudge> results;
};

/// A judge's request, and the parts that answer it.
struct Judging {
  Finder& finder;
  Records& records;
  Log& log;
  const Exchange& exchange;
  const LoadedDomain& domain;

  const std::string& judge() const { return exchange.key->name; }
};

/// The request that searches for a stored query again: by its text if it is plain, else by its slots.
SearchRequest request_of(const LoadedDomain& domain, const BaseQuery& slots, const JudgedPool& pool);

/// Searches and returns the pool of results for the judge.
OrRefusal<ResultsToJudge> results_to_judge(const Judging& by, const SearchRequest& request,
                                           const JudgedPool& pool);

/// Reads queries from JSON lines, or from qrels if the text does not begin with a JSON object.
///
/// errors: bad_data, with the line
Result<std::vector<ImportedQuery>> read_import(std::string_view text, const LoadedDomain& domain,
                                               const TrackingParameters& tracking);

/// Stores them as the judgments of the exchange's key.
Result<ImportedJudgments> store_import(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                                       const std::vector<ImportedQuery>& queries);

/// A file of judgments for download.
HttpResponse judgments_file(const std::string& text, JudgmentFormat format, const std::string& domain);

}  // namespace metafuse::service
