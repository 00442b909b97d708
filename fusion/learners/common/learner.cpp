#include "fusion/learners/common/learner.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "core/parallel.h"

namespace metafuse::fusion {

std::string OptionReader::text(std::string_view name) const {
  const auto found = options_.find(std::string(name));
  return found == options_.end() ? std::string() : found->second;
}

void OptionReader::refuse(std::string_view name, const std::string& given, const std::string& wanted) {
  if (!outcome_) return;
  outcome_ = fail(Code::usage, "--" + std::string(name) + ' ' + given + ": give " + wanted);
}

std::size_t OptionReader::count(std::string_view name, std::size_t fallback, std::size_t least,
                                std::size_t most) {
  if (!has(name)) return fallback;
  const std::string given = text(name);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && value >= least && value <= most)
    return value;
  refuse(name, given, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return fallback;
}

double OptionReader::number(std::string_view name, double fallback, double least, double most) {
  if (!has(name)) return fallback;
  const std::string given = text(name);
  double value = 0.0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && std::isfinite(value) && value >= least &&
      value <= most)
    return value;
  std::ostringstream range;
  range << "a number from " << least << " to " << most;
  refuse(name, given, range.str());
  return fallback;
}

std::size_t OptionReader::choice(std::string_view name, const std::vector<std::string_view>& choices) {
  if (!has(name)) return 0;
  const std::string given = text(name);
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (given == choices[i]) return i;
    list += (i == 0 ? "" : ", ") + std::string(choices[i]);
  }
  refuse(name, given, "one of " + list);
  return 0;
}

StepTrace::StepTrace(const TrainingRequest& request)
    : request_(request), deepest_(request.train->matrix.feature_count(), 0.0) {
  const FeatureMatrix& matrix = request.train->matrix;
  for (std::size_t f = 0; f < deepest_.size(); ++f) {
    if (matrix.features()[f].kind != FeatureKind::rank) continue;
    for (std::size_t row = 0; row < matrix.document_count(); ++row)
      if (!matrix.is_unranked(row, f)) deepest_[f] = std::max(deepest_[f], -matrix.value(row, f));
  }
}

JsonObject StepTrace::line(std::size_t round, const WeakRanking& ranking) const {
  const bool is_finite = std::isfinite(ranking.threshold);
  JsonObject line;
  line["round"] = round;
  line["feature"] = ranking.feature + request_.first_feature_number;
  if (request_.train->matrix.features()[ranking.feature].kind == FeatureKind::rank)
    line["rank"] =
        static_cast<std::int64_t>(is_finite ? -ranking.threshold - 1.0 : deepest_[ranking.feature]);
  else if (is_finite)
    line["threshold"] = ranking.threshold;
  else
    line["threshold"] = nullptr;
  line["q_default"] = static_cast<std::int64_t>(ranking.q_default);
  line["alpha"] = ranking.alpha;
  return line;
}

TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary) {
  TrainingResult result;
  result.model.learner = std::move(learner);
  result.model.features = request.train->matrix.features();
  result.model.ranker = std::make_shared<StepRanker>(std::move(rankings), result.model.features);
  result.model.training = std::move(training);
  result.summary = std::move(summary);
  return result;
}

void for_each_bag(const TrainingRequest& request, std::size_t bags,
                  const std::function<void(std::size_t bag)>& train) {
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  parallel_for(bags, request.threads, [&](std::size_t bag) {
    train(bag);
    ++done;
    if (request.progress && std::this_thread::get_id() == caller) request.progress(done, bags);
  });
}

BestRounds best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round) {
  std::vector<double> scores(request.validate->matrix.document_count(), 0.0);
  BestRounds best;
  for (std::size_t round = 0; round < most_rounds; ++round) {
    add_round(round, scores);
    const double value = request.measure(scores);
    if (round == 0 || value > best.value) best = {round + 1, value};
    if (request.patience > 0 && round + 1 >= best.rounds + request.patience) break;
  }
  return best;
}

std::string record_best_rounds(const TrainingRequest& request, const BestRounds& best, JsonObject& training) {
  training["validation"] = JsonObject{{"measure", request.measure_name},
                                      {"value", reported_value(request, best.value)},
                                      {"rounds", best.rounds}};
  return "validation " + request.measure_name + " is best after " + std::to_string(best.rounds) +
         " rounds of each bag, which are kept\n";
}

}  // namespace metafuse::fusion
