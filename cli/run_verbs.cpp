// The verbs that apply models and fusion methods to files: fuse, score; model show and model margins.
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/training_options.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/number.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/learners/rankboost/margins.h"
#include "fusion/model/fuse.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/auto_learner.h"
#include "fusion/training/calibration.h"
#include "fusion/training/certainty.h"
#include "fusion/training/learned_from.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fuse_runs.h"
#include "fusion/unsupervised/supervised_fusion.h"
#include "service/api/fusing.h"
#include "service/config/snapshot.h"

namespace metafuse::cli {
namespace {

using namespace fusion;

struct FuseArguments {
  std::string model;
  std::string method;
  std::vector<std::string> runs;
  FusionOptions parameters;  ///< of the method
  std::string normalise;
  std::string train;
  int relevance_level = 1;
  std::string missing = "refuse";
  FuseOptions options;
  std::string output = "-";
  bool lists_methods = false;
  bool is_json = false;
  std::string requests;
  std::string config;
};

void print_methods() {
  std::string text;
  for (const FusionMethod& method : fusion_methods()) {
    text += method.name + '\t' + method.meaning;
    if (!method.parameter.empty()) {
      text += "; --k: " + method.parameter + " (";
      append_number(text, method.default_k);
      text += ")";
    }
    if (method.needs_weights) text += "; needs --weights or --train";
    if (method.is_supervised) text += "; needs --train";
    text += "\t(" + method.source + ")\n";
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<std::vector<evaluation::RunIndex>> index_runs(const FuseArguments& arguments) {
  std::vector<Result<evaluation::RunIndex>> read(arguments.runs.size(), evaluation::RunIndex{});
  parallel_for(arguments.runs.size(), arguments.options.threads, [&](std::size_t i) {
    read[i] = evaluation::index_run(arguments.runs[i], {.may_be_empty = true});
  });
  std::vector<evaluation::RunIndex> runs;
  std::set<std::string> names;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) return read[i].error();
    if (!names.insert(read[i]->name).second)
      return fail(Code::usage, arguments.runs[i] + ": a run named \"" + read[i]->name +
                                   "\" was already given; write NAME=FILE to give this one another name");
    runs.push_back(std::move(*read[i]));
  }
  return runs;
}

Result<FusionOptions> method_options(const FuseArguments& arguments) {
  FusionOptions options = arguments.parameters;
  if (!arguments.normalise.empty()) {
    options.normalise = normalisation_of(arguments.normalise);
    if (!options.normalise)
      return fail(Code::usage, "--normalise: unknown normalisation \"" + arguments.normalise +
                                   "\"; there are " + std::string(normalisation_names()));
  }
  return options;
}

/// Learns the method's parameters from the judged topics of the runs.
Result<FusionOptions> learn(const FusionMethod& method, const FuseArguments& arguments,
                            FusionOptions options) {
  TRY(auto judgments, evaluation::read_qrels(arguments.train));
  TRY(auto runs, evaluation::read_runs(arguments.runs, {.may_be_empty = true}, arguments.options.threads));
  const auto queries = judged_lists(judgments, arguments.relevance_level, [&](std::string_view query) {
    return lists_of_topic(runs, query, arguments.options.depth);
  });
  if (queries.empty())
    return fail(Code::bad_data,
                arguments.train + ": shares no query with the runs; do both belong to the same collection?");
  return train_fusion(method, queries, std::move(options));
}

/// "; did you mean ..." if some method's name is similar, otherwise empty.
std::string meant_method(const std::string& given) {
  const std::vector<std::string> names = names_of(fusion_methods());
  return near_names(given, names).empty() ? "" : did_you_mean(given, names);
}

Result<ScoreQuery> score_by_method(const FuseArguments& arguments) {
  const FusionMethod* method = find_fusion_method(arguments.method);
  if (method == nullptr)
    return fail(Code::usage, "--method: no method \"" + arguments.method + "\"" +
                                 meant_method(arguments.method) + "; see metafuse fuse --list-methods");
  auto options = method_options(arguments);
  if (!options) return options.error();
  const bool learns = method->is_supervised || (method->needs_weights && options->weights.empty());
  if (method->is_supervised && arguments.train.empty())
    return fail(Code::usage, "the method " + method->name + " learns from judgments; give --train QRELS");
  if (!arguments.train.empty() && !learns)
    return fail(Code::usage, "--train: the method " + method->name + " does not learn; leave it out");
  const bool has_training = !arguments.train.empty();
  TRY_VOID(check_fusion_options(*method, *options, arguments.runs.size(), has_training));
  if (has_training) options = learn(*method, arguments, std::move(*options));
  if (!options) return options.error();
  return ScoreQuery(
      [method, options = *options](const QueryLists& query) { return fuse_scores(*method, query, options); });
}

Result<ScoreQuery> score_by_model(const FuseArguments& arguments,
                                  const std::vector<evaluation::RunIndex>& runs) {
  if (arguments.missing != "refuse" && arguments.missing != "unranked")
    return fail(Code::usage, "--missing: refuse or unranked");
  TRY(auto model, read_model(arguments.model));
  return score_with_model(model, names_of(runs), arguments.missing == "unranked");
}

/// Answers requests of POST /v1/fuse, one per line, with the lines that the server would answer.
Result<void> fuse_requests(const FuseArguments& arguments) {
  std::shared_ptr<const service::Snapshot> snapshot;
  if (!arguments.config.empty()) {
    TRY(const auto config, read_server_configuration(arguments.config, ""));
    TRY(auto loaded, service::load_snapshot(config, engine_loader()));
    snapshot = std::move(loaded);
  }
  const service::FusingPlace place{snapshot.get(), nullptr, {}, {}};
  const std::string file = arguments.requests.empty() ? "-" : arguments.requests;
  std::size_t refused = 0;
  std::size_t first = 0;
  TextLimits limits;
  limits.max_line_bytes = service::kMaxFuseBytes + 1;
  TRY_VOID(for_each_line(
      file,
      [&](std::string_view line, std::size_t number) -> Result<void> {
        const std::string answer = service::fuse_lines(line, place, [&] {
          if (refused++ == 0) first = number;
        });
        std::fwrite(answer.data(), 1, answer.size(), stdout);
        return {};
      },
      limits));
  if (std::fflush(stdout) != 0)
    return fail(Code::try_again, "standard output: cannot write; is the disk full?");
  if (refused == 0) return {};
  return fail(Code::bad_data, fmt::format("{}:{}: the first of {} refused request{}; the answers say why",
                                          file, first, refused, refused == 1 ? "" : "s"));
}

Result<void> run_fuse(const FuseArguments& arguments) {
  if (arguments.is_json) return fuse_requests(arguments);
  if (!arguments.requests.empty())
    return fail(Code::usage, arguments.requests + ": give runs with --runs, or requests with --json FILE");
  if (arguments.lists_methods) {
    print_methods();
    return {};
  }
  if (arguments.runs.empty()) return fail(Code::usage, "give the runs to fuse: --runs RUN...");
  if (arguments.model.empty() == arguments.method.empty())
    return fail(Code::usage, "give one of --model FILE and --method NAME; see metafuse fuse --list-methods");
  if (!evaluation::is_run_column(arguments.options.tag))
    return fail(Code::usage, "--tag: one word, because it is a column of the run");
  TRY(auto runs, index_runs(arguments));
  TRY(auto score, arguments.model.empty() ? score_by_method(arguments) : score_by_model(arguments, runs));
  TRY(auto output, FileWriter::open(arguments.output));
  FuseOptions options = arguments.options;
  const FusionMethod* const method = find_fusion_method(arguments.method);
  if (method != nullptr && method->compares_documents) options.most_documents = kMostComparedDocuments;
  TRY_VOID(fuse_files(runs, score, options, output));
  return output.commit();
}

}  // namespace

void add_fuse(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "fuse", "merge runs into one, by a trained model or a fusion method", run_fuse, program);
  a.options.threads = hardware_threads();
  CLI::Option* model = verb.add_option("--model", a.model, "a model trained on these runs");
  verb.add_option("--method", a.method, "a fusion method, for example rrf; see --list-methods");
  verb.add_flag("--list-methods", a.lists_methods, "print every method with its parameter and source");
  verb.add_option("--runs", a.runs, "TREC runs, FILE or NAME=FILE");
  verb.add_option("--k", a.parameters.k, "the method's parameter")->check(at_least_zero())->excludes(model);
  verb.add_option("--normalise", a.normalise, "none, min-max, max, sum, z-score, rank, borda or l2")
      ->excludes(model);
  verb.add_option("--weights", a.parameters.weights, "a weight for each run, separated by commas")
      ->delimiter(',')
      ->excludes(model);
  CLI::Option* train = verb.add_option("--train", a.train, "judgments that a supervised method learns from");
  train->excludes(model);
  add_relevance_level(verb, a.relevance_level, "lowest grade that is relevant in --train")->needs(train);
  add_defaulted(verb, "--missing", a.missing, "with --model: refuse missing runs, or unranked to accept them")
      ->needs(model);
  add_defaulted(verb, "--depth", a.options.depth, "how far down each list counts (0: all of it)");
  add_defaulted(verb, "--limit", a.options.limit, "documents written per topic (0: all)");
  add_defaulted(verb, "--tag", a.options.tag, "the sixth column of the output");
  add_output(verb, a.output, "the fused run");
  add_threads(verb, a.options.threads)->check(CLI::Range(1, 1024));
  CLI::Option* json =
      verb.add_flag("--json", a.is_json, "answer requests of POST /v1/fuse, one per line of FILE");
  for (CLI::Option* other : verb.get_options())
    if (other != json && other != verb.get_help_ptr()) json->excludes(other);
  verb.add_option("FILE", a.requests, "with --json: the requests; default: standard input");
  verb.add_option("--config", a.config, "with --json: the configuration whose domains may be named")
      ->needs(json);
  verb.footer(
      "Examples:\n"
      "  metafuse fuse --method rrf --k 60 --runs a.run b.run c.run --output fused.run\n"
      "  metafuse fuse --method combmnz --normalise min-max --runs a.run b.run\n"
      "  metafuse fuse --method weighted_sum --weights 1,0.5 --runs a.run b.run\n"
      "  metafuse fuse --method probfuse --train qrels.txt --runs a.run b.run\n"
      "  metafuse fuse --model model.json --runs a.run b.run\n"
      "  metafuse fuse --json requests.ndjson > answers.ndjson");
}

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

void add_score(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "score", "score the rows of a LETOR file with a model", run_score, program);
  verb.add_option("--model", a.model, "a model file")->required();
  verb.add_option("--letor", a.letor, "a LETOR file (SVMlight with qid)");
  verb.add_option("--letor-ranks", a.letor_ranks, "a LETOR aggregation file: values are ranks");
  add_output(verb, a.output, "where to write one score per line; - is standard output");
  verb.footer("Example:\n  metafuse score --model m.json --letor-ranks A5.txt --output scores.txt");
}

namespace {

Result<void> run_show(const std::string& path) {
  TRY(auto model, fusion::read_model(path));
  std::cout << "learner   " << model.learner << "\nfeatures  " << model.features.size() << '\n';
  if (const std::string choice = fusion::brief_choice_text(model.training); !choice.empty())
    std::cout << "auto chose " << choice << '\n';
  if (const std::string also = fusion::learned_from_text(model.training); !also.empty())
    std::cout << "also learned from " << also << '\n';
  for (const auto& [key, value] : model.training)
    if (key != "auto" && key != "certainty" && key != "calibration")
      std::cout << key << "  " << to_text(value) << '\n';
  std::cout << fusion::certainty_text(model.training) << fusion::calibration_text(model.training);
  if (model.choice) std::cout << '\n' << fusion::choice_text(*model.choice, model.features);
  std::cout << fusion::rankboost::generalisation_text(model.training, model.features.size());
  if (const fusion::SumRanker* sum = model.ranker->sum())
    std::cout << '\n' << fusion::rank_table(*sum, model.features);
  std::cout << '\n' << model.ranker->describe(model.features);
  return {};
}

struct MarginsArguments {
  std::string model;
  std::string output;
  fusion::TrainingInput input;
};

Result<void> run_margins(const MarginsArguments& arguments) {
  if (!arguments.output.empty()) TRY_VOID(check_writable(arguments.output));
  TRY(const auto model, fusion::read_model(arguments.model));
  const fusion::SumRanker* sum = model.ranker->sum();
  if (sum == nullptr || sum->rankings() == nullptr)
    return fail(Code::usage,
                arguments.model + ": the learner " + model.learner +
                    " does not add up thresholded features, so its model has no margins; train one "
                    "with --learner rankboost");
  fusion::TrainingInput input = arguments.input;
  input.expected = model.features;
  TRY(const auto set, fusion::read_training_set(input));
  TRY(const auto report, fusion::rankboost::margins_of(set, *sum->rankings()));
  if (!arguments.output.empty()) TRY_VOID(write_file(arguments.output, fusion::rankboost::to_page(report)));
  std::cout << fusion::rankboost::to_text(report);
  return {};
}

}  // namespace

void add_model(CLI::App& app, Program& program) {
  CLI::App* model = app.add_subcommand("model", "inspect model files")->require_subcommand(1);
  auto [show, path] =
      add_verb(*model, "show", "print features, weak rankings and cumulative step tables of a model",
               run_show, program);
  show.add_option("FILE", path, "a model file")->required();
  show.footer("Example:\n  metafuse model show models/ml-homepages.json");
  auto [margins, m] =
      add_verb(*model, "margins", "show how clearly a model orders judged pairs, as text and plot",
               run_margins, program);
  margins.add_option("FILE", m.model, "a model file of thresholded features, such as rankboost's")
      ->required();
  add_input_options(margins, m.input);
  margins.add_option("--output", m.output, "a page with plots (HTML)");
  margins.footer(
      "Example:\n  metafuse model margins m.json --runs a.run b.run --qrels qrels --output margins.html");
}

}  // namespace metafuse::cli
