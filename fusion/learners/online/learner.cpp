#include "fusion/learners/online/learner.h"

#include <cmath>
#include <numeric>
#include <sstream>

#include "core/random.h"

namespace metafuse::fusion::online {
namespace {

constexpr OnlineMethod kMethods[] = {OnlineMethod::prank,   OnlineMethod::prank_vp, OnlineMethod::widrow_hoff,
                                     OnlineMethod::oap_bpm, OnlineMethod::oap_bagg, OnlineMethod::oap_vp};

Result<void> check_feedback(const TrainingSet& set) {
  if (!set.pairs.empty())
    return fail(Code::usage, "online rankers learn from grades, one document at a time; leave out --pairs");
  if (set.feedback.query_weights != FeedbackOptions::QueryWeights::pairs ||
      set.feedback.grade_weights != FeedbackOptions::GradeWeights::one)
    return fail(Code::usage,
                "online rankers count every document once; leave out --query-weights and "
                "--grade-weights");
  return {};
}

double grade_of(const TrainingSet& set, std::size_t document) {
  if (!set.feedback.is_bipartite) return set.grades[document];
  return set.grades[document] >= set.feedback.relevance_level ? 1.0 : 0.0;
}

std::vector<std::size_t> judged_documents(const TrainingSet& set) {
  std::vector<std::size_t> documents;
  for (std::size_t d = 0; d < set.grades.size(); ++d)
    if (set.in_feedback.empty() || set.in_feedback[d] != 0) documents.push_back(d);
  return documents;
}

Result<OnlineRanker> start_of(const LearnerSettings& settings, const TrainingSet& set,
                              const std::vector<std::size_t>& documents) {
  std::vector<double> grades = settings.grades;
  if (grades.empty()) {
    std::vector<double> seen;
    for (const std::size_t d : documents) seen.push_back(grade_of(set, d));
    TRY(auto found, grades_of(std::move(seen)));
    grades = std::move(found);
  }
  std::vector<InputScale> scales(set.matrix.feature_count());
  if (settings.is_scaled) scales = unit_scales(set.matrix);
  return fresh_ranker(settings, std::move(scales), std::move(grades));
}

/// Going on from a model keeps its method, scales and grades; options that would change them are refused.
Result<OnlineRanker> resumed(const TrainingRequest& request, OnlineMethod method) {
  const auto* ranker = dynamic_cast<const OnlineRanker*>(request.resume->ranker.get());
  if (ranker == nullptr || ranker->model().options().method != method)
    return fail(Code::usage, "--resume: that model is of the learner " + request.resume->learner + ", not " +
                                 std::string(to_name(method)));
  for (const auto& [name, value] : request.options)
    if (name != "passes")
      return fail(Code::usage, "--" + name + ": a resumed model keeps what it started with; leave it out");
  if (request.resume->features != request.train->matrix.features())
    return fail(Code::bad_data, "--resume: the model was trained on other features than these");
  return *ranker;
}

struct Examples {
  std::vector<double> rows;
  std::vector<int> ranks;
};

Result<Examples> examples_of(const TrainingSet& set, const std::vector<std::size_t>& documents,
                             const OnlineInputs& inputs) {
  Examples examples;
  for (const std::size_t d : documents) {
    const auto rank = inputs.rank(grade_of(set, d));
    if (!rank) {
      std::ostringstream text;
      text << "a document has grade " << grade_of(set, d)
           << ", which is none of the model's grades; give --grades "
           << "with all of them from the start";
      return fail(Code::bad_data, text.str());
    }
    const auto row = inputs.row(set.matrix, d);
    examples.rows.insert(examples.rows.end(), row.begin(), row.end());
    examples.ranks.push_back(*rank);
  }
  return examples;
}

/// One pass in a seeded random order, which does not depend on the order of the input.
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
  std::ostringstream text;
  text << to_name(model.options().method) << ": " << model.steps()
       << " examples seen; mean rank loss of predictions "
       << "made before each update " << losses.back() << "\n";
  result.summary = text.str();
  result.model.learner = std::string(to_name(model.options().method));
  result.model.features = request.train->matrix.features();
  result.model.training = JsonObject{{"examples", model.steps()}, {"mean_rank_loss", losses.back()}};
  result.model.ranker = std::make_shared<OnlineRanker>(std::move(inputs), std::move(model));
  return result;
}

template <OnlineMethod method>
Result<TrainingResult> train(const TrainingRequest& request) {
  const TrainingSet& set = *request.train;
  TRY(auto settings, read_settings(method, request.options, request.seed));
  TRY_VOID(check_feedback(set));
  const auto documents = judged_documents(set);
  TRY(auto start, request.resume != nullptr ? resumed(request, method) : start_of(settings, set, documents));
  const OnlineInputs inputs = start.inputs();
  OnlineModel model = start.model();
  TRY(const auto examples, examples_of(set, documents, inputs));
  if (examples.ranks.empty())
    return fail(Code::bad_data, "no judged documents to learn from; check the judgments");
  std::vector<double> losses;
  for (std::size_t pass = 0; pass < settings.passes; ++pass) {
    // Seeded by the examples seen, so that two passes equal one pass resumed by another.
    TRY(auto loss, run_pass(model, examples, Random(request.seed).split(model.steps()), request.threads));
    losses.push_back(loss);
    if (request.progress) request.progress(pass + 1, settings.passes);
  }
  return result_of(request, inputs, std::move(model), losses);
}

template <OnlineMethod method>
Learner row(std::string meaning) {
  Learner learner;
  learner.name = std::string(to_name(method));
  learner.meaning = std::move(meaning);
  learner.source = "Harrington 2003";
  learner.options = options_of(method);
  learner.train = train<method>;
  learner.read = read_online_ranker;
  learner.takes_query_weights = false;
  learner.can_resume = true;
  return learner;
}

}  // namespace

std::optional<OnlineMethod> method_of(std::string_view learner) {
  for (const OnlineMethod method : kMethods)
    if (to_name(method) == learner) return method;
  return std::nullopt;
}

Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades) {
  OnlineInputs inputs;
  inputs.scales = std::move(scales);
  inputs.grades = std::move(grades);
  // PRank's thresholds are its constant; Widrow-Hoff has none of its own.
  inputs.has_bias =
      settings.model.method == OnlineMethod::widrow_hoff && !settings.model.kernel.is_polynomial;
  OnlineOptions options = settings.model;
  options.inputs = inputs.size();
  options.ranks = static_cast<int>(inputs.grades.size());
  TRY(auto model, OnlineModel::make(options));
  return OnlineRanker(std::move(inputs), std::move(model));
}

std::vector<Learner> learners() {
  return {row<OnlineMethod::prank>("perceptron with ordered thresholds"),
          row<OnlineMethod::prank_vp>("PRank whose past rules vote by the examples they survived"),
          row<OnlineMethod::widrow_hoff>("least squares by one gradient step a document"),
          row<OnlineMethod::oap_bpm>("mean of N PRanks that each see a random part of the stream"),
          row<OnlineMethod::oap_bagg>("mean rank of the same N PRanks"),
          row<OnlineMethod::oap_vp>("the same, weighted by how often each was right")};
}

}  // namespace metafuse::fusion::online
