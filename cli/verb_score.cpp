#include <memory>
#include <string>

#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "fusion/model/score_file.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {
namespace {

struct ScoreArguments {
  std::string model;
  std::string letor;
  std::string letor_ranks;
  std::string output = "-";
};

Result<void> run_score(const ScoreArguments& arguments) {
  if (arguments.letor.empty() == arguments.letor_ranks.empty())
    return fail(Code::usage, "score needs one of --letor FILE and --letor-ranks FILE");
  TRY(auto model, fusion::read_model(arguments.model));
  const bool are_ranks = arguments.letor.empty();
  TRY(auto scores,
      fusion::score_letor_file(model, are_ranks ? arguments.letor_ranks : arguments.letor, are_ranks));
  return write_file(arguments.output, scores);
}

}  // namespace

void add_score(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("score", "score the rows of a LETOR file with a model");
  auto arguments = std::make_shared<ScoreArguments>();
  verb->add_option("--model", arguments->model, "a model file")->required();
  verb->add_option("--letor", arguments->letor, "a LETOR file (SVMlight with qid)");
  verb->add_option("--letor-ranks", arguments->letor_ranks, "a LETOR aggregation file: values are ranks");
  verb->add_option("--output", arguments->output, "where to write one score a line; - is standard output")
      ->capture_default_str();
  verb->footer("Example:\n  metafuse score --model m.json --letor-ranks A5.txt --output scores.txt");
  verb->callback([arguments, &outcome] { outcome = run_score(*arguments); });
}

}  // namespace metafuse::cli
