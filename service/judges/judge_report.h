#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/progress.h"
#include "core/result.h"
#include "evaluation/measures/agreement.h"
#include "fusion/data/features.h"
#include "service/learning/judge_grades.h"
#include "service/store/store.h"

// What the judgments of a language model are worth, measured by people's judgments of the same documents.

namespace metafuse::service {

/// How good a way of ordering is, by the grades of people and of a model.
struct MethodByJudges {
  std::string name;  ///< a list, or "rrf"
  double by_people = 0;
  double by_model = 0;
};

/// NDCG@10 by people's grades of orders that have not seen the query, as means over queries.
struct LearnedFromJudges {
  std::size_t queries = 0;
  double untrained = 0;  ///< RRF
  double from_people = 0;
  double from_model = 0;
};

struct JudgeReport {
  std::string judge;                     ///< its name in the store
  std::size_t queries = 0;               ///< in which both graded a document
  evaluation::JudgeAgreement agreement;  ///< the model's grades read on people's scale
  /// The 95 % interval of the weighted kappa, by bootstrap over queries; nothing below kFewestForInterval.
  std::optional<std::pair<double, double>> interval{};
  std::size_t wanted = 0;  ///< further queries for an interval as narrow as kWantedWidth
  double tau = 0;          ///< Kendall's, of the methods ordered by people's and the model's grades
  std::vector<MethodByJudges> methods{};  ///< best by people's grades first
  GradeReading reading{};
  std::optional<LearnedFromJudges> learned{};  ///< if it was asked for and enough queries have both judges
};

/// The width of the interval of the weighted kappa that more judgments aim at.
inline constexpr double kWantedWidth = 0.1;
/// How many queries both must have judged before an interval says anything: of fewer, a bootstrap's is far
/// too narrow.
inline constexpr std::size_t kFewestForInterval = 10;
/// How many queries both must have judged before models are trained from either.
inline constexpr std::size_t kFewestToLearn = 10;

struct JudgeReportOptions {
  std::string domain;
  std::vector<fusion::Feature> features{};  ///< empty: those of the searches
  bool is_learned = false;                  ///< also train from the grades of both, by cross-validation
  bool has_interval = true;
  std::size_t most_queries = 100000;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress{};  ///< of the training
};

/// The reports of all language models that judged in a domain, by name.
///
/// errors: those of the store and of training
/// cost:   reads a search for each query that both judged; with is_learned, ten trainings per model
Result<std::vector<JudgeReport>> judge_reports(Store& store, const JudgeReportOptions& options);

/// For people, some lines per model; `with_calibration` adds how its grades are to be read.
std::string report_text(const JudgeReport& report, bool with_calibration);
JsonObject report_json(const JudgeReport& report);

}  // namespace metafuse::service
