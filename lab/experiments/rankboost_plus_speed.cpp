// Fig. 1 of Connamacher et al. 2020: what a round costs, on data of a fixed size.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/data/training_set.h"
#include "lab/experiments/rankboost_plus.h"
#include "lab/learners/rankboost_plus/boost.h"

namespace metafuse::lab::experiments::rankboost_plus {
namespace {

using fusion::TrainingSet;
using lab::rankboost_plus::BoostOptions;
using lab::rankboost_plus::Form;
using lab::rankboost_plus::StumpTable;

TrainingSet synthetic_set(Random random) {
  constexpr std::size_t kDocuments = 60;
  constexpr std::size_t kFeatures = 25;
  TrainingSet set;
  std::vector<fusion::Feature> features;
  for (std::size_t f = 0; f < kFeatures; ++f)
    features.push_back({"f" + std::to_string(f), fusion::FeatureKind::value, 0});
  set.matrix = fusion::FeatureMatrix(std::move(features), kDocuments);
  set.queries = {{"synthetic", 0, kDocuments, 1.0}};
  for (std::size_t x = 0; x < kDocuments; ++x) {
    set.grades.push_back(static_cast<double>(random.below(5)));
    set.in_feedback.push_back(1);
    for (std::size_t f = 0; f < kFeatures; ++f)
      set.matrix.set(x, f, std::floor(set.grades.back() + 2.5 * random.normal()));
  }
  return set;
}

}  // namespace

void speed_figure(const ExperimentOptions& options, Report& report) {
  using Clock = std::chrono::steady_clock;
  const TrainingSet set = synthetic_set(Random(options.seed));
  const auto pairs = lab::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1));
  if (!pairs) return;
  const StumpTable stumps(fusion::CodedFeatures(set.matrix, {}), 255, Random(1));
  std::vector<evaluation::Curve> curves;
  std::vector<double> late;  // median of the second half of the rounds
  for (const Form form : {Form::plus_optimal, Form::plus_efficient, Form::continuous}) {
    BoostOptions boosting;
    boosting.form = form;
    boosting.rounds = 80;
    boosting.has_all_losses = false;
    boosting.seed = options.seed;
    std::vector<double> times;
    Clock::time_point last = Clock::now();
    (void)lab::rankboost_plus::boost_stumps(stumps, *pairs, boosting, [&](const auto&) {
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - last).count());
      last = Clock::now();
      return true;
    });
    std::vector<double> half(times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    std::sort(half.begin(), half.end());
    late.push_back(half.empty() ? 0.0 : half[half.size() / 2]);
    const bool is_efficient = form == Form::plus_efficient;
    if (!times.empty())
      curves.push_back(curve_of(
          is_efficient ? "RankBoost+ (efficient)" : std::string(lab::rankboost_plus::form_name(form)),
          times));
  }
  if (curves.empty()) return;
  report.plot(curves, "milliseconds a round, synthetic data (fig. 1)", "round", "ms");
  report.judge(
      "the efficient form runs at about the speed of Rb-c once its candidates are independent, the optimal "
      "form is slower",
      late[1] < 3.0 * late[2] && late[0] > late[1],
      fmt::format("median ms per round: optimal {:.3f}, efficient {:.3f}, Rb-c {:.3f}", late[0], late[1],
                  late[2]));
}

}  // namespace metafuse::lab::experiments::rankboost_plus
