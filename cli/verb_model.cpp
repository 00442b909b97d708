#include <iostream>
#include <memory>
#include <string>

#include "cli/verbs.h"
#include "fusion/learners/rankboost/generalisation.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {
namespace {

Result<void> run_show(const std::string& path) {
  TRY(auto model, fusion::read_model(path));
  std::cout << "learner   " << model.learner << "\nfeatures  " << model.features.size() << '\n';
  for (const auto& [key, value] : model.training) std::cout << key << "  " << to_text(value) << '\n';
  std::cout << fusion::rankboost::generalisation_text(model.training, model.features.size());
  std::cout << '\n' << model.ranker->describe(model.features);
  return {};
}

}  // namespace

void add_model(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("model", "look at model files");
  verb->require_subcommand(1);
  CLI::App* show =
      verb->add_subcommand("show", "features, weak rankings and cumulative step tables of a model");
  auto path = std::make_shared<std::string>();
  show->add_option("FILE", *path, "a model file")->required();
  show->footer("Example:\n  metafuse model show models/ml-homepages.json");
  show->callback([path, &outcome] { outcome = run_show(*path); });
}

}  // namespace metafuse::cli
