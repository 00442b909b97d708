#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace metafuse::service {

/// One method of a cross-validation table.
struct ReportedMethod {
  std::string name;
  std::vector<int> best_rank;  ///< of the best relevant document, a query each
  double average_rank = 0.0;

  std::size_t top(int k) const;
};

/// What training said of one round.
struct ReportedRound {
  double round = 0.0;
  double ranking_loss = 0.0;
  double bound = 0.0;
};

/// The last offline reports of a domain, read from the configuration's folder `reports`.
struct EvaluationReport {
  int depth = 30;
  std::vector<std::string> queries;
  ReportedMethod learner;
  std::vector<ReportedMethod> baselines;
  std::vector<ReportedMethod> features;
  std::vector<ReportedRound> rounds;

  bool has_table() const { return !queries.empty(); }
  bool is_empty() const { return queries.empty() && rounds.empty(); }
};

/// Reads DOMAIN.crossvalidation.json (what `metafuse crossvalidate --json` prints) and DOMAIN.trace.jsonl
/// (what `metafuse train --trace` writes); a file that is not there leaves its part empty.
///
/// errors: bad_data naming the file and the field
Result<EvaluationReport> read_evaluation_report(const std::string& folder, std::string_view domain);

/// The same as one JSON object, for GET /v1/evaluation.
JsonObject to_json(const EvaluationReport& report);

}  // namespace metafuse::service
