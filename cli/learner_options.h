#pragma once

#include <map>
#include <string>

#include "cli/verb.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {

/// Which learner, and what the user set of its options.
struct LearnerChoice {
  std::string learner = "rankboost";
  std::map<std::string, std::string> options;
};

/// Adds --learner and every option of every learner, once each; the help says whose an option is.
void add_learner_options(CLI::App& verb, LearnerChoice& choice);

/// errors: usage for an unknown learner, or an option that the chosen learner does not have
Result<const fusion::Learner*> chosen_learner(const LearnerChoice& choice);

}  // namespace metafuse::cli
