#pragma once

// The options of `train` and `crossvalidate`: the training data, the learner, when to stop.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/environment.h"
#include "core/result.h"
#include "fusion/input/input_files.h"
#include "fusion/training/list_ordering.h"
#include "fusion/training/registry.h"
#include "fusion/training/training_options.h"
#include "service/learning/store_training.h"

namespace metafuse::cli {

/// Adds --runs, --qrels, --letor, --letor-ranks, --pairs, --absent, --depth, --derive, --feedback,
/// --relevance-level, --unjudged, --negative-grades, --query-weights and --grade-weights.
void add_input_options(CLI::App& verb, fusion::TrainingInput& input);

/// The learner, and the learner options that the user set.
struct LearnerChoice {
  fusion::Learners table;  ///< the program's
  std::string learner;     ///< empty: default_learner() chooses
  std::map<std::string, std::string> options;
  bool must_start_from = false;  ///< only learners that can start from models of other domains
};

/// Adds --learner and every option of every learner, each once; the help names the learners that have it.
void add_learner_options(CLI::App& verb, LearnerChoice& choice);

/// The learner that is named. If none is named, it is the default learner; but if options are given that the
/// default does not have, it is the first learner in the table that has them all (and can start from models,
/// if it must), RankBoost for most.
///
/// errors: usage for an unknown learner, or an option that the chosen learner does not have
Result<const fusion::Learner*> chosen_learner(const LearnerChoice& choice);

/// The options of `metafuse train`, as typed.
struct TrainArguments {
  fusion::TrainingInput input;
  LearnerChoice learner;
  std::string model;
  std::string trace;
  std::string resume;
  std::vector<std::string> start_from;  ///< files of other domains' models
  fusion::TrainingRequest request;      ///< seed, trace, time limit and checkpoints
  unsigned threads = 0;                 ///< 0: one per core
  std::vector<std::string> validate;
  fusion::ValidationOptions validation;  ///< --metric and --patience
  fusion::MemoryLimit memory;            ///< 0 bytes: no limit; without a folder, it is the model's
  std::string store;
  ConfigChoice config;                       ///< with a store: names the domain's settings
  service::StoreTrainingOptions from_store;  ///< domain, half-life of clicks, held-out queries
  std::string model_weight;                  ///< MODEL=NUMBER, of a language model's judgments
  std::string only_model;                    ///< the language model whose judgments alone count
  bool wants_certainty = false;
  std::optional<bool> wants_calibration;  ///< absent: with a learner that chooses, if the queries suffice
  std::string reliability_plot;
  std::optional<fusion::ListChoiceOptions>
      choice;  ///< absent: the model says nothing about asking fewer lists
};

/// Adds the options with their help and examples; `arguments` must outlive the parsing.
void add_train_options(CLI::App& verb, TrainArguments& arguments);

}  // namespace metafuse::cli
