#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "core/result.h"

namespace metafuse::service {

/// One method of a cross-validation table.
struct ReportedMethod {
  std::string name;
  std::vector<int> best_rank;  ///< of the best relevant document, one per query
  double average_rank = 0.0;

  std::size_t top(int k) const;
};

/// The figures that training reported for one round.
struct ReportedRound {
  double round = 0.0;
  double ranking_loss = 0.0;
  double bound = 0.0;
};

/// A mean with the half-width of its 95 % interval (normal approximation), which is 0 for a single value.
struct Spread {
  double mean = 0.0;
  double half_width = 0.0;
};
Spread spread_of(const std::vector<double>& values);

/// Learning curves: the quality of methods by the number of judged queries.
struct ReportedCurves {
  struct Line {
    std::string name;
    std::vector<double> queries;
    std::vector<double> means;        ///< mean over the draws
    std::vector<double> half_widths;  ///< half-widths of the means' 95 % intervals
  };
  std::string collection;
  std::vector<Line> lines;
};

/// The latest offline reports of a domain, read from the configuration's folder `reports`.
struct EvaluationReport {
  int depth = 30;
  std::vector<std::string> queries;
  ReportedMethod learner;
  std::vector<ReportedMethod> baselines;
  std::vector<ReportedMethod> features;
  std::vector<ReportedRound> rounds;
  std::vector<ReportedCurves> curves;
  std::map<std::string, BaseQuery> words;  ///< slots of the queries by id, as far as they are known

  bool has_table() const { return !queries.empty(); }
  bool is_empty() const { return queries.empty() && rounds.empty() && curves.empty(); }
};

/// Reads DOMAIN.crossvalidation.json (what `metafuse crossvalidate --json` prints), DOMAIN.trace.jsonl (what
/// `metafuse train --trace` writes), DOMAIN.learning-curve.json (what `metafuse-lab experiment
/// learning-curve` writes) and DOMAIN.queries.jsonl (the input of `metafuse record`). Files that are missing
/// are skipped.
///
/// errors: bad_data naming the file and the field
Result<EvaluationReport> read_evaluation_report(const std::string& folder, std::string_view domain);

/// A cache of reports, which are read again only when their files have changed. Safe from any thread; one
/// report is read at a time.
class EvaluationReports {
 public:
  /// errors: those of read_evaluation_report(), which are cached, too
  Result<std::shared_ptr<const EvaluationReport>> read(const std::string& folder, std::string_view domain);

 private:
  struct Kept {
    std::string files;  ///< identifies the files that were read
    Result<std::shared_ptr<const EvaluationReport>> outcome;
  };
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;  ///< by folder and domain; only domains with files
};

/// The report as one JSON object, for GET /v1/evaluation.
JsonObject to_json(const EvaluationReport& report);

}  // namespace metafuse::service
