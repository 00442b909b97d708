#include "lab/learners/adaboost_mh/learner.h"

#include <optional>

#include <fmt/format.h>

#include "fusion/learners/common/options.h"
#include "fusion/model/votes/vote_rankers.h"
#include "lab/learners/adaboost_mh/boost.h"
#include "lab/learners/adaboost_mh/training_data.h"
#include "lab/learners/common/training.h"

namespace metafuse::lab::adaboost_mh {

namespace {

struct Options {
  enum class Base { tree, product, stump };

  Base base = Base::tree;
  std::size_t leaves = 20;
  std::size_t terms = 3;
  std::size_t rounds = 100;
  std::size_t max_thresholds = 255;

  BaseSetting setting() const {
    if (base == Base::tree) return {BaseKind::tree, leaves};
    return {BaseKind::product, base == Base::product ? terms : 1};
  }
};

void declare_options(OptionTable& table, Options& options) {
  using enum Options::Base;
  table.choice("base", options.base, {{"tree", tree}, {"product", product}, {"stump", stump}},
               "base classifier");
  table.count("leaves", options.leaves, 2, 1000, "leaves of a tree");
  table.count("terms", options.terms, 1, 100, "terms of a product");
  table.count(
      "rounds", options.rounds, 1, 1'000'000,
      "rounds of boosting; with --resume, fewer keep only the first rounds, more continue on the same "
      "documents");
  table.count("max-thresholds", options.max_thresholds, 1, 255, "thresholds per feature, at most 255");
}

Result<Options> options_of(const TrainingRequest& request) {
  TRY(const auto options, read_options<Options>(request.options));
  TRY_VOID(
      refuse_unread(request.options, {{"leaves", options.base == Options::Base::tree, "--base tree"},
                                      {"terms", options.base == Options::Base::product, "--base product"}}));
  return options;
}

/// The digests of the documents that a model was trained on.
JsonObject data_of(const TrainingSet& set) {
  JsonObject data;
  for (const auto& [part, digest] : fusion::fingerprint(set)) data[part] = digest;
  return data;
}

/// The classifier to continue from, if there is one.
Result<std::optional<MhRanker>> start_of(const TrainingRequest& request, const Options& options,
                                         const GradedCuts& graded) {
  if (request.resume == nullptr) return std::optional<MhRanker>();
  const JsonObject body = request.resume->ranker->body();
  if (!body.contains("rounds"))
    return fail(Code::usage, "--resume: that model was trained by the learner " + request.resume->learner +
                                 ", not adaboost-mh");
  TRY(auto ranker, fusion::votes::read_ranker(body, request.resume->features));
  const JsonObject& record = request.resume->training;
  const Json* const data = record.if_contains("data");  // models of earlier versions have none
  if (ranker.graded() != graded || (data != nullptr && *data != data_of(*request.train)))
    return fail(Code::bad_data,
                "--resume: the model was trained on other documents; boosting continues only on the "
                "same ones");
  const Json* const base = record.if_contains("base");
  if (base != nullptr && *base != Json(options.setting().name()))
    return fail(Code::usage, fmt::format("--resume: the model's base classifier is {}, not {}; give the same "
                                         "--base, --leaves and --terms",
                                         to_text(*base), options.setting().name()));
  return std::optional(std::move(ranker));
}

std::vector<JsonObject> trace_of(const BoostRun& run) {
  std::vector<JsonObject> trace;
  double bound = 1.0;
  for (std::size_t t = 0; t < run.rounds.size(); ++t) {
    const BoostRound& round = run.rounds[t];
    bound *= round.z;
    trace.push_back(JsonObject{{"round", t + 1},
                               {"edge", round.edge},
                               {"alpha", round.alpha},
                               {"z", round.z},
                               {"bound", bound},
                               {"hamming_loss", round.hamming_loss}});
  }
  return trace;
}

std::string summary_of(const Options& options, const BoostRun& run, std::size_t documents,
                       std::size_t classes) {
  std::string text =
      fmt::format("adaboost-mh ({}): {} rounds over {} documents of {} grades; {}", options.setting().name(),
                  run.rounds.size(), documents, classes, run.stop_reason);
  if (!run.rounds.empty()) text += fmt::format("; Hamming loss {:g}", run.rounds.back().hamming_loss);
  return text + "\n";
}

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(const auto options, options_of(request));
  GradedCuts graded;
  TRY(graded.grades, class_grades(*request.train));
  TRY(const auto documents, graded_documents(*request.train, graded.grades));
  const CodedFeatures coded(documents.matrix, ThresholdOptions{options.max_thresholds});
  graded.table = cut_table(coded);
  TRY(const auto start, start_of(request, options, graded));
  const CodedRows rows(documents.matrix, graded.table);
  const BoostStart from{start ? &start->classifier() : nullptr, &rows};
  BoostRun run = boost(
      {&coded, documents.classes, graded.grades.size(), request.threads}, options.setting(), options.rounds,
      [&](std::size_t done) {
        if (request.progress) request.progress(done, options.rounds);
      },
      from);
  if (request.progress) request.progress(options.rounds, options.rounds);
  TrainingResult result;
  result.trace = trace_of(run);
  result.summary = summary_of(options, run, documents.classes.size(), graded.grades.size());
  result.model.learner = "adaboost-mh";
  result.model.features = request.train->matrix.features();
  result.model.training = JsonObject{{"base", options.setting().name()},
                                     {"rounds", run.rounds.size()},
                                     {"stopped", run.stop_reason},
                                     {"documents", documents.classes.size()},
                                     {"data", data_of(*request.train)}};
  result.model.ranker = std::make_shared<MhRanker>(std::move(graded), std::move(run.classifier));
  return result;
}

}  // namespace

Learner learner() {
  return {.name = "adaboost-mh",
          .meaning = "multi-class boosting of trees, products or stumps, ordered by expected gain",
          .source = "Schapire, Singer 1999; Kegl, Busa-Fekete 2009; Busa-Fekete et al. 2011",
          .options = option_rows<Options>(),
          .train = train,
          .takes_query_weights = false,
          .can = {.resume = true}};
}

}  // namespace metafuse::lab::adaboost_mh
