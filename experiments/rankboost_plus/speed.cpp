#include <algorithm>
#include <chrono>
#include <cmath>

#include "evaluation/reports/svg_plot.h"
#include "experiments/interval.h"
#include "experiments/rankboost_plus/figures.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::rankboost_plus::Form;
using fusion::rankboost_plus::form_name;

fusion::TrainingSet synthetic_set(Random random) {
  constexpr std::size_t kDocuments = 60;
  constexpr std::size_t kFeatures = 25;
  fusion::TrainingSet set;
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

void speed_figure(const ExperimentOptions& options, PaperReport& report) {
  using Clock = std::chrono::steady_clock;
  const fusion::TrainingSet set = synthetic_set(Random(options.seed));
  const auto pairs = fusion::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1));
  if (!pairs) return;
  const fusion::rankboost_plus::StumpTable stumps(fusion::CodedFeatures(set.matrix, {}), 255, Random(1));
  std::vector<evaluation::Curve> curves;
  std::vector<double> late;  // median of the second half of the rounds
  for (const Form form : {Form::plus_optimal, Form::plus_efficient, Form::continuous}) {
    fusion::rankboost_plus::BoostOptions boosting;
    boosting.form = form;
    boosting.rounds = 80;
    boosting.has_all_losses = false;
    boosting.seed = options.seed;
    evaluation::Curve curve{
        form == Form::plus_efficient ? "RankBoost+ (efficient)" : std::string(form_name(form)), {}, {}};
    Clock::time_point last = Clock::now();
    (void)fusion::rankboost_plus::boost_stumps(stumps, *pairs, boosting, [&](const auto&) {
      const Clock::time_point now = Clock::now();
      curve.x.push_back(static_cast<double>(curve.x.size() + 1));
      curve.y.push_back(std::chrono::duration<double, std::milli>(now - last).count());
      last = Clock::now();
      return true;
    });
    std::vector<double> half(curve.y.begin() + static_cast<std::ptrdiff_t>(curve.y.size() / 2),
                             curve.y.end());
    std::sort(half.begin(), half.end());
    late.push_back(half.empty() ? 0.0 : half[half.size() / 2]);
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  }
  if (curves.empty()) return;
  report.plots.push_back(
      evaluation::svg_plot(curves, {"milliseconds a round, synthetic data (fig. 1)", "round", "ms", false}));
  report.claims.push_back(
      judged("the efficient form runs at about the speed of Rb-c once its candidates are independent, the "
             "optimal form is slower",
             late[1] < 3.0 * late[2] && late[0] > late[1],
             "median ms a round: optimal " + fixed(late[0], 3) + ", efficient " + fixed(late[1], 3) +
                 ", Rb-c " + fixed(late[2], 3)));
}

}  // namespace metafuse::experiments::rankboost_plus
