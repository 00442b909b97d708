#include "experiments/letor_agg/candidate.h"

#include "experiments/round_curve.h"
#include "fusion/registry.h"

namespace metafuse::experiments::letor_agg {
namespace {

using Grades = fusion::FeedbackOptions::GradeWeights;

struct Scale {
  const char* rounds;
  const char* bags;
};

Scale scale_of(ExperimentOptions::Size size) {
  switch (size) {
    case ExperimentOptions::Size::quick:
      return {"40", "4"};
    case ExperimentOptions::Size::normal:
      return {"300", "20"};
    case ExperimentOptions::Size::full:
      break;
  }
  return {"500", "100"};
}

}  // namespace

std::vector<Candidate> candidates(ExperimentOptions::Size size) {
  const Scale scale = scale_of(size);
  std::vector<Candidate> all;
  const auto add = [&](const std::string& learner, const std::string& queries, const std::string& name,
                       Grades grades, const std::string& derive = "") {
    Candidate candidate{learner + ", " + queries + ", " + name, learner, {queries, grades, derive}, {}};
    if (!derive.empty()) candidate.name += ", derive " + derive;
    candidate.options = {{"rounds", scale.rounds}, {"max-thresholds", "all"}};
    if (learner == "rankboost-bagged") candidate.options["bags"] = scale.bags;
    all.push_back(std::move(candidate));
  };
  add("rankboost", "pairs", "one", Grades::one);
  add("rankboost", "pairs", "difference", Grades::difference);
  add("rankboost", "equal", "one", Grades::one);
  add("rankboost", "equal", "difference", Grades::difference);
  add("rankboost-bagged", "equal", "one", Grades::one);
  add("rankboost-bagged", "equal", "difference", Grades::difference);
  return all;
}

Result<Trained> train(const Fold& fold, const Candidate& candidate, const evaluation::MeasureSet& measures,
                      const ExperimentOptions& options) {
  auto set = read_parts(fold.train, candidate.reading);
  if (!set) return set.error();
  auto validation = read_parts({fold.validate}, candidate.reading, set->matrix.features());
  if (!validation) return validation.error();
  const RoundCurve curve(*validation, measures);
  fusion::TrainingRequest request;
  request.train = &*set;
  request.validate = &*validation;
  request.measure = [&](std::span<const double> scores) {
    return criterion(curve.per_query({scores.begin(), scores.end()}));
  };
  request.measure_name = "the mean of the three measures";
  request.seed = options.seed;
  request.threads = options.threads;
  request.wants_trace = false;
  request.options = candidate.options;
  auto result = fusion::find_learner(candidate.learner)->train(request);
  if (!result) return result.error();
  Trained trained{std::move(result->model), 0, {}};
  const JsonObject& record = trained.model.training;
  trained.rounds = (record.contains("rounds") ? record : record.at("validation").as_object())
                       .at("rounds")
                       .to_number<std::int64_t>();
  trained.validation = curve.per_query(trained.model.ranker->score(validation->matrix));
  return trained;
}

}  // namespace metafuse::experiments::letor_agg
