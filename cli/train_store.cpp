#include "cli/train_store.h"

#include <chrono>
#include <iostream>

#include "service/learning/store_training.h"

namespace metafuse::cli {
namespace {

Result<void> check_options(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  if (!input.letor.empty() || !input.letor_ranks.empty())
    return fail(Code::usage,
                "--store takes --runs and --qrels beside it; leave out --letor and --letor-ranks");
  if (input.runs.empty() != input.qrels.empty())
    return fail(Code::usage, "--runs and --qrels go together, beside --store too");
  if (!input.pairs.empty() || (input.depth != 0 && input.runs.empty()))
    return fail(Code::usage, "--store holds its judgments and lists; leave out --pairs and --depth");
  if (input.query_weights != "pairs" && input.query_weights != "equal")
    return fail(Code::usage, "--store takes --query-weights pairs or equal");
  if (arguments.domain.empty()) return fail(Code::usage, "--store needs --domain, the domain to learn for");
  return {};
}

service::StoreTrainingOptions store_options(const TrainArguments& arguments,
                                            const fusion::TrainingInput& input) {
  service::StoreTrainingOptions options;
  options.domain = arguments.domain;
  options.now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  options.clicks.half_life_days = arguments.half_life_days;
  options.are_held_out_used = arguments.are_held_out_used;
  options.features = input.expected;
  options.derive = input.derive;
  options.feedback = input.feedback;
  options.are_unjudged_ignored = input.is_unjudged_ignored;
  if (input.query_weights == "equal")
    options.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  return options;
}

}  // namespace

Result<fusion::TrainingSet> read_store(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  TRY_VOID(check_options(arguments, input));
  TRY(auto store, service::open_store(arguments.store, service::StoreMode::read));
  service::StoreTrainingOptions options = store_options(arguments, input);
  if (!input.runs.empty()) {
    TRY(const std::string secret, store->secret());
    TRY(options.offline,
        service::read_offline_queries({input.runs, input.qrels, arguments.domain, input.depth, {}}, secret,
                                      {}, options.now));
  }
  service::StoreTrainingReport report;
  auto set = service::training_set_from_store(*store, options, &report);
  if (set) std::cerr << report.text() << '\n';
  return set;
}

}  // namespace metafuse::cli
