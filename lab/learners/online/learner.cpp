#include "lab/learners/online/learner.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/portable_math.h"
#include "core/random.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/options.h"
#include "lab/learners/common/training.h"

namespace metafuse::lab::online {

namespace {

/// Reads grades such as "0,1,2", in ascending order.
Result<std::vector<double>> parse_grades(const std::string& text) {
  std::vector<double> grades;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at <= end) {
    const char* const comma = std::find(at, end, ',');
    double grade = 0.0;
    const auto [stop, error] = std::from_chars(at, comma, grade);
    const bool is_good = error == std::errc() && stop == comma && std::isfinite(grade);
    if (!is_good || (!grades.empty() && grade <= grades.back()))
      return fail(Code::usage,
                  "--grades " + text + ": give ascending numbers separated by commas, such as 0,1,2");
    grades.push_back(grade);
    at = comma + 1;
  }
  if (grades.size() < 2 || grades.size() > 1000)
    return fail(Code::usage, "--grades " + text + ": give 2 to 1000 grades");
  return grades;
}

}  // namespace

void declare_options(OptionTable& table, LearnerSettings& settings) {
  OnlineOptions& model = settings.model;
  table.count("passes", settings.passes, 1, 1'000'000,
              "passes over the documents, each in a new seeded order");
  table.choice("scale", settings.is_scaled, {{"unit", true}, {"none", false}},
               "unit scales features to [0, 1] by their training range");
  table.custom({"grades", "LIST", "", "all possible grades, such as 0,1,2; default: those of the documents"},
               [&settings](const std::string& given) -> Result<void> {
                 TRY(settings.grades, parse_grades(given));
                 return {};
               });
  table.choice("kernel", model.kernel.is_polynomial, {{"linear", false}, {"polynomial", true}},
               "(x . x' + 1)^degree when polynomial");
  table.count("degree", model.kernel.degree, 1, 20, "degree of the polynomial kernel");
  table.count("max-map", model.kernel.max_map, 0, 1'000'000,
              "largest exact feature map of the kernel; if it would be larger, examples are stored");
  table.count("budget", model.kernel.budget, 1, 100'000,
              "examples that a kernel without exact map stores; the oldest is dropped first");
  if (is_ensemble(model.method)) {
    table.count("rankers", model.rankers, 1, 100'000, "number of PRanks");
    table.number("tau", model.tau, 1e-6, 1.0, "probability that a PRank is shown a document", "P");
  }
  if (has_step_rule(model.method)) {
    table.choice("update", model.prank_step.rule,
                 {{"perceptron", StepRule::perceptron},
                  {"romma", StepRule::romma},
                  {"aggressive-romma", StepRule::aggressive_romma}},
                 "update rule of a PRank: the perceptron's or ROMMA's (Li, Long 2002)");
    table.number("slack", model.prank_step.slack, 1e-6, 1e6,
                 "for ROMMA, how far single examples may be violated; 0.000001 allows almost nothing", "D");
  }
  if (model.method == OnlineMethod::widrow_hoff)
    table.number("step", model.step, 1e-12, 1e6, "step size of the gradient", "ETA");
  if (model.method == OnlineMethod::prank_vp)
    table.count("max-votes", model.max_votes, 1, 10'000'000,
                "number of rules kept; when full, the one with the fewest votes is dropped");
}

Result<LearnerSettings> read_settings(OnlineMethod method, const std::map<std::string, std::string>& options,
                                      std::uint64_t seed) {
  LearnerSettings settings;
  settings.model.method = method;
  settings.model.seed = seed;
  TRY(settings, read_options(options, settings));
  const bool is_polynomial = settings.model.kernel.is_polynomial;
  TRY_VOID(refuse_unread(options, {{"degree", is_polynomial, "--kernel polynomial"},
                                   {"max-map", is_polynomial, "--kernel polynomial"},
                                   {"budget", is_polynomial, "--kernel polynomial"},
                                   {"slack", settings.model.prank_step.rule != StepRule::perceptron,
                                    "--update romma or --update aggressive-romma"}}));
  return settings;
}

namespace {

/// Scales that map every feature of the documents to [0, 1]; a constant feature becomes 0.
std::vector<InputScale> unit_scales(const FeatureMatrix& documents) {
  std::vector<InputScale> scales(documents.feature_count());
  for (std::size_t f = 0; f < scales.size(); ++f) {
    double lowest = INFINITY;
    double highest = -INFINITY;
    for (std::size_t d = 0; d < documents.document_count(); ++d) {
      if (documents.is_unranked(d, f)) continue;
      lowest = std::min(lowest, documents.value(d, f));
      highest = std::max(highest, documents.value(d, f));
    }
    const Feature& feature = documents.features()[f];
    if (feature.kind == FeatureKind::rank) {
      const double depth = feature.depth > 0 ? feature.depth : (lowest <= highest ? -lowest : 1.0);
      scales[f] = {depth + 1.0, 1.0 / depth};
    } else if (lowest < highest) {
      // Halved first, since the difference of two finite numbers may overflow.
      const double half_span = highest / 2.0 - lowest / 2.0;
      const double factor = 1.0 / half_span / 2.0;
      scales[f] = is_moderate(factor) && factor > 0.0 ? InputScale{-lowest, factor} : InputScale{0.0, 0.0};
    } else {
      scales[f] = {0.0, 0.0};
    }
  }
  return scales;
}

Result<OnlineRanker> start_of(const LearnerSettings& settings, const TrainingSet& set) {
  std::vector<double> grades = settings.grades;
  if (grades.empty()) {
    TRY(grades, grade_scale(set));
  }
  TRY_VOID(refuse_huge_features(set.matrix));
  std::vector<InputScale> scales(set.matrix.feature_count());
  if (settings.is_scaled) scales = unit_scales(set.matrix);
  return fresh_ranker(settings, std::move(scales), std::move(grades));
}

/// Continues training a model. It keeps its method, scales and grades; options that would change them
/// are refused.
Result<OnlineRanker> resumed(const TrainingRequest& request, OnlineMethod method) {
  const Error other =
      fail(Code::usage, "--resume: that model was trained by the learner " + request.resume->learner +
                            ", not " + std::string(to_name(method)));
  const JsonObject body = request.resume->ranker->body();
  if (!body.contains("state")) return other;
  TRY(auto ranker, fusion::online::read_online_ranker(body, request.resume->features));
  if (ranker.model().options().method != method) return other;
  for (const auto& [name, value] : request.options)
    if (name != "passes")
      return fail(Code::usage, "--" + name + ": a resumed model keeps its original setting; leave it out");
  if (request.resume->features != request.train->matrix.features())
    return fail(Code::bad_data, "--resume: the model was trained on different features");
  return ranker;
}

struct Examples {
  std::vector<double> rows;
  std::vector<int> ranks;
};

Result<Examples> examples_of(const TrainingSet& set, const std::vector<std::size_t>& documents,
                             const OnlineInputs& inputs) {
  Examples examples;
  for (const std::size_t d : documents) {
    const auto rank = inputs.rank(feedback_grade(set, d));
    if (!rank)
      return fail(Code::bad_data, fmt::format("a document has grade {:g}, which is not one of the model's "
                                              "grades; give --grades with all grades from the start",
                                              feedback_grade(set, d)));
    const auto row = inputs.row(set.matrix, d);
    examples.rows.insert(examples.rows.end(), row.begin(), row.end());
    examples.ranks.push_back(*rank);
  }
  return examples;
}

/// Makes one pass in a seeded random order that does not depend on the order of the input.
Result<double> run_pass(OnlineModel& model, const Examples& examples, Random random, unsigned threads) {
  std::vector<std::size_t> order(examples.ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  const std::size_t inputs = model.options().inputs;
  constexpr std::size_t kChunk = 4096;
  double loss = 0.0;
  for (std::size_t begin = 0; begin < order.size(); begin += kChunk) {
    const std::size_t end = std::min(order.size(), begin + kChunk);
    std::vector<double> rows;
    std::vector<int> ranks;
    for (std::size_t i = begin; i < end; ++i) {
      const double* row = &examples.rows[order[i] * inputs];
      rows.insert(rows.end(), row, row + inputs);
      ranks.push_back(examples.ranks[order[i]]);
    }
    TRY(auto predictions, model.learn(rows, ranks, threads));
    for (std::size_t i = 0; i < ranks.size(); ++i) loss += std::abs(predictions[i].rank - ranks[i]);
  }
  return loss / static_cast<double>(order.size());
}

TrainingResult result_of(const TrainingRequest& request, OnlineInputs inputs, OnlineModel model,
                         const std::vector<double>& losses) {
  TrainingResult result;
  for (std::size_t pass = 0; pass < losses.size(); ++pass)
    result.trace.push_back(JsonObject{{"pass", pass + 1}, {"mean_rank_loss", losses[pass]}});
  result.model.learner = std::string(to_name(model.options().method));
  result.summary =
      fmt::format("{}: {} examples seen; mean rank loss of predictions made before each update {:g}\n",
                  result.model.learner, model.steps(), losses.back());
  result.model.features = request.train->matrix.features();
  result.model.training = JsonObject{{"examples", model.steps()}, {"mean_rank_loss", losses.back()}};
  result.model.ranker = std::make_shared<OnlineRanker>(std::move(inputs), std::move(model));
  return result;
}

Result<TrainingResult> train(OnlineMethod method, const TrainingRequest& request) {
  const TrainingSet& set = *request.train;
  TRY(auto settings, read_settings(method, request.options, request.seed));
  TRY_VOID(refuse_pair_options(set, to_name(method)));
  const auto documents = judged_documents(set);
  TRY(auto start, request.resume != nullptr ? resumed(request, method) : start_of(settings, set));
  const OnlineInputs inputs = start.inputs();
  OnlineModel model = start.model();
  TRY(const auto examples, examples_of(set, documents, inputs));
  if (examples.ranks.empty())
    return fail(Code::bad_data, "no judged documents to learn from; check the judgments");
  std::vector<double> losses;
  for (std::size_t pass = 0; pass < settings.passes; ++pass) {
    // Seeded by the number of examples seen, so that two passes give the same as one pass and a resumed
    // second one.
    TRY(auto loss, run_pass(model, examples, Random(request.seed).split(model.steps()), request.threads));
    losses.push_back(loss);
    if (request.progress) request.progress(pass + 1, settings.passes);
  }
  return result_of(request, inputs, std::move(model), losses);
}

}  // namespace

Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades) {
  OnlineInputs inputs;
  inputs.scales = std::move(scales);
  inputs.grades = std::move(grades);
  // PRank's thresholds act as its constant; Widrow-Hoff has no constant of its own.
  inputs.has_bias =
      settings.model.method == OnlineMethod::widrow_hoff && !settings.model.kernel.is_polynomial;
  OnlineOptions options = settings.model;
  options.inputs = inputs.size();
  options.ranks = static_cast<int>(inputs.grades.size());
  TRY(auto model, OnlineModel::make(options));
  return OnlineRanker(std::move(inputs), std::move(model));
}

std::vector<Learner> learners() {
  std::vector<Learner> learners;
  for (const auto& [method, name, meaning] : kOnlineMethods) {
    LearnerSettings settings;
    settings.model.method = method;
    learners.push_back(
        {.name = std::string(name),
         .meaning = std::string(meaning),
         .source = "Harrington 2003",
         .options = option_rows(settings),
         .train = [method = method](const TrainingRequest& request) { return train(method, request); },
         .takes_query_weights = false,
         .can = {.resume = true}});
  }
  return learners;
}

}  // namespace metafuse::lab::online
