#include "experiments/letor_agg/candidate.h"

#include "experiments/round_curve.h"
#include "fusion/training/registry.h"

namespace metafuse::experiments::letor_agg {
namespace {

using Grades = fusion::FeedbackOptions::GradeWeights;

struct Scale {
  int rounds;
  int bags;
  int trees;  // a bag
};

Scale scale_of(ExperimentOptions::Size size) {
  switch (size) {
    case ExperimentOptions::Size::quick:
      return {40, 4, 10};
    case ExperimentOptions::Size::normal:
      return {150, 40, 200};
    case ExperimentOptions::Size::full:
      break;
  }
  return {500, 100, 300};
}

Candidate rankboost(const Scale& scale, const Reading& reading) {
  return {"rankboost",
          "rankboost",
          reading,
          {{"rounds", std::to_string(scale.rounds)}, {"max-thresholds", "all"}}};
}

Candidate bagged(const Scale& scale, const Reading& reading) {
  Candidate candidate = rankboost(scale, reading);
  candidate.name = "rankboost-bagged " + std::to_string(scale.bags);
  candidate.learner = "rankboost-bagged";
  candidate.options["bags"] = std::to_string(scale.bags);
  return candidate;
}

Candidate trees(const Scale& scale, const Reading& reading, int depth) {
  return {"monotone-trees " + std::to_string(scale.bags) + ", depth " + std::to_string(depth),
          "monotone-trees",
          reading,
          {{"rounds", std::to_string(scale.trees)},
           {"bags", std::to_string(scale.bags)},
           {"tree-depth", std::to_string(depth)}}};
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
  std::vector<Candidate> all = {
      rankboost(scale, {"equal", Grades::one, ""}),
      bagged(scale, {"equal", Grades::one, "share"}),
      trees(scale, {"documents", Grades::one, "share"}, 2),
      trees(scale, {"documents", Grades::one, "share"}, 3),
  };
  for (Candidate& candidate : all) {
    candidate.name += ", " + candidate.reading.query_weights;
    candidate.name += candidate.reading.grade_weights == Grades::one ? ", one" : ", difference";
    if (!candidate.reading.derive.empty()) candidate.name += ", derive " + candidate.reading.derive;
  }
  return all;
}

Result<std::vector<double>> validation_curve(const Fold& fold, const Candidate& candidate,
                                             const evaluation::MeasureSet& measures,
                                             const ExperimentOptions& options) {
  TRY(const auto set, read_parts(fold.train, candidate.reading));
  TRY(const auto validation, read_parts({fold.validate}, candidate.reading, set.matrix.features()));
  const RoundCurve scorer(validation, measures);
  std::vector<double> curve;
  fusion::TrainingRequest request = request_of(set, candidate, options);
  request.validate = &validation;
  request.measure_name = "the mean of the three measures";
  request.measure = [&](std::span<const double> scores) {
    curve.push_back(criterion(scorer.per_query({scores.begin(), scores.end()})));
    return curve.back();
  };
  TRY_VOID(fusion::find_learner(candidate.learner)->train(request));
  return curve;
}

Result<fusion::Model> train(const std::vector<std::string>& parts, const Candidate& candidate,
                            std::size_t rounds, const ExperimentOptions& options) {
  TRY(const auto set, read_parts(parts, candidate.reading));
  fusion::TrainingRequest request = request_of(set, candidate, options);
  request.options["rounds"] = std::to_string(rounds);
  TRY(auto result, fusion::find_learner(candidate.learner)->train(request));
  return std::move(result.model);
}

}  // namespace metafuse::experiments::letor_agg
