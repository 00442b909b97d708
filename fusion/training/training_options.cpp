#include "fusion/training/training_options.h"

#include <utility>

#include <fmt/format.h>

#include "fusion/learners/common/validation.h"

namespace metafuse::fusion {

Error refused_by(const Learner& learner, std::string_view rest) {
  return fail(Code::usage, fmt::format("the learner {} {}", learner.name, rest));
}

Result<void> check_validation(const Learner& learner, const ValidationOptions& given) {
  if (given.has_set && !learner.can.validate)
    return refused_by(learner, "does not use validation data; leave out --validate");
  const bool reads_metric = learner.chooses_by_measure || learner.can.stop_early;
  if ((given.metric && !reads_metric) || (given.patience && !learner.can.stop_early))
    return refused_by(learner, fmt::format("has its own rule for --validate; leave out {}",
                                           given.patience ? "--patience" : "--metric"));
  if (given.metric && !given.has_set && !learner.chooses_by_measure)
    return fail(Code::usage,
                fmt::format("--metric: the learner {} uses it only with --validate", learner.name));
  return {};
}

Result<void> set_validation(const Learner& learner, const ValidationOptions& given, const TrainingSet* set,
                            TrainingRequest& request) {
  request.measure.name = given.metric.value_or(std::string(kTrainMetric));
  if (set == nullptr) return {};
  request.validate = set;
  if (!learner.can.stop_early) return {};
  TRY(auto measure, validation_measure(*set, request.measure.name));
  request.measure = std::move(measure);
  request.patience = given.patience.value_or(kTrainPatience);
  return {};
}

}  // namespace metafuse::fusion
