#include "experiments/letor_agg/candidate.h"

#include "experiments/round_curve.h"
#include "fusion/registry.h"

namespace metafuse::experiments::letor_agg {
namespace {

using Grades = fusion::FeedbackOptions::GradeWeights;

struct Scale {
  int rounds;
  int bags;
};

Scale scale_of(ExperimentOptions::Size size) {
  switch (size) {
    case ExperimentOptions::Size::quick:
      return {40, 4};
    case ExperimentOptions::Size::normal:
      return {300, 20};
    case ExperimentOptions::Size::full:
      break;
  }
  return {500, 100};
}

fusion::TrainingRequest request_of(const fusion::TrainingSet& set, const Candidate& candidate,
                                   const ExperimentOptions& options) {
  fusion::TrainingRequest request;
  request.train = &set;
  request.seed = options.seed;
  request.threads = options.threads;
  request.wants_trace = false;
  request.options = candidate.options;
  return request;
}

}  // namespace

std::vector<Candidate> candidates(ExperimentOptions::Size size) {
  const Scale scale = scale_of(size);
  std::vector<Candidate> all;
  const auto add = [&](const std::string& queries, const std::string& pairs, Grades grades, int bags,
                       const std::string& derive = "") {
    Candidate candidate{
        (bags > 0 ? "rankboost-bagged " + std::to_string(bags) : "rankboost") + ", " + queries + ", " + pairs,
        bags > 0 ? "rankboost-bagged" : "rankboost",
        {queries, grades, derive},
        {{"rounds", std::to_string(scale.rounds)}, {"max-thresholds", "all"}}};
    if (!derive.empty()) candidate.name += ", derive " + derive;
    if (bags > 0) candidate.options["bags"] = std::to_string(bags);
    all.push_back(std::move(candidate));
  };
  add("pairs", "one", Grades::one, 0);
  add("pairs", "difference", Grades::difference, 0);
  add("equal", "one", Grades::one, 0);
  add("equal", "difference", Grades::difference, 0);
  add("equal", "one", Grades::one, scale.bags);
  add("equal", "difference", Grades::difference, scale.bags);
  add("equal", "one", Grades::one, scale.bags, "share");
  add("equal", "difference", Grades::difference, scale.bags, "share");
  return all;
}

Result<std::vector<double>> validation_curve(const Fold& fold, const Candidate& candidate,
                                             const evaluation::MeasureSet& measures,
                                             const ExperimentOptions& options) {
  const auto set = read_parts(fold.train, candidate.reading);
  if (!set) return set.error();
  const auto validation = read_parts({fold.validate}, candidate.reading, set->matrix.features());
  if (!validation) return validation.error();
  const RoundCurve scorer(*validation, measures);
  std::vector<double> curve;
  fusion::TrainingRequest request = request_of(*set, candidate, options);
  request.validate = &*validation;
  request.measure_name = "the mean of the three measures";
  request.measure = [&](std::span<const double> scores) {
    curve.push_back(criterion(scorer.per_query({scores.begin(), scores.end()})));
    return curve.back();
  };
  if (auto result = fusion::find_learner(candidate.learner)->train(request); !result) return result.error();
  return curve;
}

Result<fusion::Model> train(const Fold& fold, const Candidate& candidate, std::size_t rounds,
                            const ExperimentOptions& options) {
  const auto set = read_parts(fold.train, candidate.reading);
  if (!set) return set.error();
  fusion::TrainingRequest request = request_of(*set, candidate, options);
  request.options["rounds"] = std::to_string(rounds);
  auto result = fusion::find_learner(candidate.learner)->train(request);
  if (!result) return result.error();
  return std::move(result->model);
}

}  // namespace metafuse::experiments::letor_agg
