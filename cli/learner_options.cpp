#include "cli/learner_options.h"

#include <algorithm>

namespace metafuse::cli {
namespace {

using fusion::Learner;
using fusion::LearnerOption;

std::string names_of_learners() {
  std::string names;
  for (const Learner& learner : fusion::learners()) names += (names.empty() ? "" : ", ") + learner.name;
  return names;
}

/// What the options of one name mean; learners that mean the same by it stand together.
struct SharedOption {
  struct Meaning {
    std::string learners;
    std::string text;
  };

  std::string values;
  std::vector<Meaning> meanings;

  void add(const std::string& learner, const std::string& text) {
    for (Meaning& meaning : meanings)
      if (meaning.text == text) {
        meaning.learners += ", " + learner;
        return;
      }
    meanings.push_back({learner, text});
  }

  std::string help() const {
    std::string lines;
    for (const Meaning& meaning : meanings)
      lines += (lines.empty() ? "" : "\n") + meaning.learners + ": " + meaning.text;
    return lines;
  }
};

std::map<std::string, SharedOption> options_of_all() {
  std::map<std::string, SharedOption> shared;
  for (const Learner& learner : fusion::learners()) {
    for (const LearnerOption& option : learner.options) {
      SharedOption& entry = shared[option.name];
      if (entry.values.empty()) entry.values = option.values;
      entry.add(learner.name, option.meaning + (option.fallback.empty() ? "" : " [" + option.fallback + "]"));
    }
  }
  return shared;
}

}  // namespace

void add_learner_options(CLI::App& verb, LearnerChoice& choice) {
  verb.add_option("--learner", choice.learner, "one of " + names_of_learners())->capture_default_str();
  for (const auto& [name, shared] : options_of_all()) {
    const std::string key = name;
    verb.add_option_function<std::string>(
            "--" + name, [&choice, key](const std::string& value) { choice.options[key] = value; },
            shared.help())
        ->type_name(shared.values)
        ->group("Learner options");
  }
}

Result<const Learner*> chosen_learner(const LearnerChoice& choice) {
  const Learner* learner = fusion::find_learner(choice.learner);
  if (learner == nullptr)
    return fail(Code::usage, "no learner \"" + choice.learner + "\"; there are " + names_of_learners());
  for (const auto& [name, value] : choice.options) {
    const std::string& wanted = name;
    const bool is_known = std::any_of(learner->options.begin(), learner->options.end(),
                                      [&](const LearnerOption& option) { return option.name == wanted; });
    if (!is_known)
      return fail(Code::usage,
                  "the learner " + learner->name + " has no option --" + name + "; leave it out");
  }
  return learner;
}

}  // namespace metafuse::cli
