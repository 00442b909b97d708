#pragma once

#include <map>
#include <memory>
#include <mutex>
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

/// Reports that are read once and again only when their files changed, however often they are asked for. From
/// any thread; one report is read at a time.
class EvaluationReports {
 public:
  /// errors: those of read_evaluation_report(), kept like reports
  Result<std::shared_ptr<const EvaluationReport>> read(const std::string& folder, std::string_view domain);

 private:
  struct Kept {
    std::string files;  ///< which ones were read
    Result<std::shared_ptr<const EvaluationReport>> outcome;
  };
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;  ///< by folder and domain; those with files alone
};

/// The same as one JSON object, for GET /v1/evaluation.
JsonObject to_json(const EvaluationReport& report);

}  // namespace metafuse::service
