#include "cli/training_options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "core/text.h"

namespace metafuse::cli {
namespace {

using fusion::Learner;
using fusion::LearnerOption;

/// What an option of this name means in the learners that have it; learners with the same meaning share
/// an entry.
struct SharedOption {
  struct Meaning {
    std::string learners;
    std::string text;
  };

  std::string name;
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

  /// The group of the help: options of one family of learners under its name, shared options together.
  std::string group() const {
    return rare_group(meanings.size() == 1 ? "Options of " + meanings.front().learners
                                           : "Options of several learners");
  }

  std::string help() const {
    if (meanings.size() == 1) return meanings.front().text;
    std::string lines;
    for (const Meaning& meaning : meanings)
      lines += (lines.empty() ? "" : "\n") + meaning.learners + ": " + meaning.text;
    return lines;
  }
};

/// The options of all learners: first those that several learners have, then the others learner by learner.
std::vector<SharedOption> options_of_all(fusion::Learners learners) {
  std::vector<SharedOption> shared;
  for (const Learner& learner : learners) {
    for (const LearnerOption& option : learner.options) {
      auto entry = std::find_if(shared.begin(), shared.end(),
                                [&](const SharedOption& known) { return known.name == option.name; });
      if (entry == shared.end()) entry = shared.insert(shared.end(), {option.name, option.values, {}});
      entry->add(learner.name,
                 option.meaning + (option.fallback.empty() ? "" : " [" + option.fallback + "]"));
    }
  }
  std::stable_partition(shared.begin(), shared.end(),
                        [](const SharedOption& option) { return option.meanings.size() > 1; });
  return shared;
}

/// Moves options that few users need to a group that only `--help=all` shows.
void show_rarely(CLI::App& verb, const std::string& title, std::initializer_list<const char*> names) {
  for (const char* name : names) verb.get_option(name)->group(rare_group(title));
}

}  // namespace

void add_learner_options(CLI::App& verb, LearnerChoice& choice) {
  verb.add_option("--learner", choice.learner,
                  fmt::format("one of {}; the default, auto, chooses among them; if options of a learner are "
                              "given, the default is the first learner that has them all",
                              fmt::join(names_of(choice.table), ", ")))
      ->default_str(std::string(fusion::kDefaultLearner));
  for (const SharedOption& shared : options_of_all(choice.table)) {
    verb.add_option_function<std::string>(
            "--" + shared.name,
            [&choice, key = shared.name](const std::string& value) { choice.options[key] = value; },
            shared.help())
        ->type_name(shared.values)
        ->group(shared.group());
  }
}

namespace {

bool has_option(const Learner& learner, const std::string& name) {
  return std::any_of(learner.options.begin(), learner.options.end(),
                     [&](const LearnerOption& option) { return option.name == name; });
}

/// The default learner if it has all options that were given, else the first that has them all.
const Learner* default_learner(const LearnerChoice& choice) {
  const auto has_all = [&](const Learner& learner) {
    return (!choice.must_start_from || learner.can.start_from) &&
           std::all_of(choice.options.begin(), choice.options.end(),
                       [&](const auto& option) { return has_option(learner, option.first); });
  };
  const Learner* learner = fusion::find_learner(fusion::kDefaultLearner, choice.table);
  if (has_all(*learner)) return learner;
  const fusion::Learners all = choice.table;
  const auto first = std::find_if(all.begin(), all.end(), has_all);
  return first == all.end() ? learner : &*first;
}

}  // namespace

Result<const Learner*> chosen_learner(const LearnerChoice& choice) {
  TRY(const Learner* learner, choice.learner.empty() ? Result<const Learner*>(default_learner(choice))
                                                     : fusion::learner_named(choice.learner, choice.table));
  for (const auto& [name, value] : choice.options)
    if (!has_option(*learner, name))
      return fusion::refused_by(*learner, "has no option --" + name + "; leave it out");
  return learner;
}

namespace {

/// Adds the options that are declared to it to a verb. Numbers may have any value of their types; the
/// declared ranges are the library's.
class DeclaredOptions {
 public:
  explicit DeclaredOptions(CLI::App& verb) : verb_(verb) {}

  template <class Integer>
  void count(const std::string& name, Integer& value, std::size_t, std::size_t, const std::string& meaning) {
    add_defaulted(verb_, ("--" + name).c_str(), value, meaning)->check(at_least_zero());
  }
  void number(const std::string& name, double& value, double, double, const std::string& meaning) {
    add_defaulted(verb_, ("--" + name).c_str(), value, meaning);
  }
  template <class Value>
  void choice(const std::string& name, Value& value,
              const std::vector<std::pair<std::string, std::type_identity_t<Value>>>& choices,
              const char* meaning) {
    add_choice(verb_, ("--" + name).c_str(), value, choices, meaning);
  }
  void text(const std::string& name, std::string& value, const std::string& meaning) {
    verb_.add_option("--" + name, value, meaning);
  }
  void word_or_file(const std::string& name, std::string& value, const std::vector<std::string>&,
                    const std::string& meaning) {
    add_defaulted(verb_, ("--" + name).c_str(), value, meaning);
  }

 private:
  CLI::App& verb_;
};

}  // namespace

void add_input_options(CLI::App& verb, fusion::TrainingInput& input) {
  auto* runs =
      verb.add_option("--runs", input.runs, "TREC runs, each FILE or NAME=FILE: one rank feature each");
  auto* qrels = verb.add_option("--qrels", input.qrels, "the judgments for --runs");
  auto* letor = verb.add_option("--letor", input.letor, "LETOR files (SVMlight with qid)");
  auto* ranks = verb.add_option("--letor-ranks", input.letor_ranks,
                                "LETOR aggregation files: values are ranks, 1 best, NULL unranked");
  letor->excludes(runs)->excludes(qrels)->excludes(ranks);
  ranks->excludes(runs)->excludes(qrels);
  verb.add_option("--pairs", input.pairs, "general feedback: qid document_below document_above weight");
  add_choice(verb, "--absent", input.is_absent_unranked, {{"zero", false}, {"unranked", true}},
             "a feature that a --letor row does not name: zero or unranked");
  DeclaredOptions declared(verb);
  fusion::declare_input_options(declared, input);
  show_rarely(verb, "More about documents and judgments",
              {"--pairs", "--absent", "--derive", "--feedback", "--relevance-level", "--unjudged",
               "--negative-grades", "--query-weights", "--grade-weights"});
}

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  metafuse train --runs a.run b.run --qrels qrels --rounds 50 --model model.json\n"
    "  metafuse train --letor-ranks A1.txt.xz A2.txt.xz --model model.json --trace rounds.jsonl\n"
    "  metafuse train --letor train.txt --learner rankboost --weak-learner 3 --q-default learn --model "
    "m.json\n"
    "  metafuse train --letor-ranks A1.txt A2.txt A3.txt --validate A4.txt --metric map --rounds 1000 "
    "--model m.json\n"
    "  metafuse train --letor large.txt --rounds 5000 --checkpoint c.json --model m.json\n"
    "  mpirun -np 4 metafuse train --letor large.txt --rounds 500 --model m.json\n"
    "  metafuse train --letor huge.txt --learner rankboost --memory-limit 2G --model m.json\n"
    "  metafuse train --store state/metafuse.db --domain ml-homepages --model models/ml-homepages.json";

void add_validation(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* validate =
      verb.add_option("--validate", arguments.validate,
                      "stop early by these files, which are of the training input's kind, or with --runs the "
                      "qrels of other queries; the best number of rounds is kept");
  verb.add_option("--metric", arguments.validation.metric,
                  "with --validate, or with the learner auto: the measure to choose by, named as in evaluate")
      ->default_str(std::string(fusion::kTrainMetric));
  verb.add_option("--patience", arguments.validation.patience,
                  "with --validate: stop after this many rounds without a better value, 0 for never")
      ->default_str(std::to_string(fusion::kTrainPatience))
      ->needs(validate);
}

void add_interruption(CLI::App& verb, TrainArguments& arguments) {
  add_defaulted(verb, "--time-limit", arguments.request.limit.seconds,
                "stop after this many seconds, 0 for never; the further trainings of --calibrate and "
                "--choose-lists each take as many again")
      ->check(at_least_zero());
  CLI::Option* checkpoint = verb.add_option("--checkpoint", arguments.request.checkpoints.file,
                                            "a file from which interrupted training can resume");
  add_defaulted(verb, "--checkpoint-every", arguments.request.checkpoints.every,
                "rounds between two checkpoints")
      ->check(above_zero())
      ->needs(checkpoint);
  verb.add_option("--resume", arguments.resume,
                  "a checkpoint to resume from; for an online learner, a model. The result is the same as "
                  "without the interruption");
}

void add_start(CLI::App& verb, TrainArguments& arguments) {
  verb.add_option(
          "--start-from", arguments.start_from,
          "models of other domains: training starts from what they say about lists of the same name "
          "(template@engine), or else of the same engine, in place of RRF; the more queries are judged, "
          "the less it counts")
      ->type_name("MODEL");
}

void add_calibration(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* calibrate = verb.add_flag_function(
      "--calibrate", [&arguments](std::int64_t) { arguments.wants_calibration = true; },
      "also learn from queries held out what share of documents is relevant at each score, so that a server "
      "can give each result a relevance from 0 to 1; 5 more trainings. The learner auto does so by itself if "
      "20 queries are judged and no --time-limit is given");
  verb.add_flag_function(
          "--no-calibrate", [&arguments](std::int64_t) { arguments.wants_calibration = false; },
          "with the learner auto: leave that out")
      ->excludes(calibrate);
  verb.add_option(
          "--reliability-plot", arguments.reliability_plot,
          "with --calibrate: a plot of served relevance against the share of relevant documents (SVG)")
      ->needs(calibrate);
}

void add_list_choice(CLI::App& verb, TrainArguments& arguments) {
  verb.add_option_function<double>(
          "--choose-lists", [&arguments](double may_lose) { arguments.choice.emplace().may_lose = may_lose; },
          "also learn which lists a domain with `select` asks for first, and when they suffice: they may "
          "cost "
          "this much of a ranking's mean worth, such as 0.002 (see templates.md); 5 more trainings")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("MAY_LOSE");
}

void add_memory(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* memory =
      verb.add_option("--memory-limit", arguments.memory.bytes,
                      "with --letor and --letor-ranks, for data larger than memory: how much memory this "
                      "process may use, such as 512M; feature columns are kept in an unnamed temporary file. "
                      "The model is the same as without it")
          ->transform(CLI::AsSizeValue(false))
          ->type_name("SIZE");
  verb.add_option("--temporary", arguments.memory.folder,
                  "with --memory-limit: folder of that file, on a disk; default: the model's folder")
      ->needs(memory);
}

void add_store_input(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* store = verb.add_option(
      "--store", arguments.store, "judgments and clicks of a server: its SQLite file or postgresql://...");
  verb.add_option("--domain", arguments.from_store.domain, "with --store: the domain to learn for")
      ->needs(store);
  add_config_option(verb, arguments.config,
                    "with --store: server configuration with the domain, for its rrf_k; default: the one "
                    "that the other verbs find, if the store is its own");
  verb.get_option("--config")->needs(store);
  add_defaulted(verb, "--half-life", arguments.from_store.clicks.half_life_days,
                "with --store: days after which a click counts half")
      ->check(above_zero())
      ->needs(store);
  verb.add_flag("--use-held-out", arguments.from_store.are_held_out_used,
                "with --store: also learn from the judged queries on which promotions are measured; as long "
                "as fewer than 30 of these are judged, all are learned from without it")
      ->needs(store);
  verb.add_option("--weight", arguments.model_weight,
                  "with --store: also learn from the queries that only this language model judged (see "
                  "metafuse judge), each counting as much in relation to one that people judged; without "
                  "this option only people's judgments count")
      ->type_name("MODEL=NUMBER")
      ->needs(store);
  verb.add_option("--only", arguments.only_model,
                  "with --store: learn from the judgments of this language model alone")
      ->type_name("MODEL")
      ->needs(store)
      ->excludes("--weight");
  verb.add_flag("--calibrate-judge", arguments.from_store.judges.is_calibrated,
                "with --weight or --only: read the model's grades as their comparison with people's says")
      ->needs(store);
}

}  // namespace

void add_train_options(CLI::App& verb, TrainArguments& arguments) {
  arguments.request.checkpoints.every = 100;
  arguments.memory.folder.clear();
  add_input_options(verb, arguments.input);
  add_learner_options(verb, arguments.learner);
  verb.add_option("--model", arguments.model, "the model file to write")->required();
  CLI::Option* trace = verb.add_option("--trace", arguments.trace, "a file for one JSON object per round");
  add_defaulted(verb, "--trace-every", arguments.request.trace.every,
                "with --trace: write only every N-th round, which spares RankBoost computing its loss in "
                "the others")
      ->check(above_zero())
      ->needs(trace);
  add_defaulted(verb, "--threads", arguments.threads,
                "threads to use, 0 for one per core (under mpirun one per process); the model is the same "
                "for any number")
      ->check(CLI::Range(0, 1024));
  add_defaulted(verb, "--seed", arguments.request.seed, "seed of everything drawn at random");
  verb.add_flag("--certainty", arguments.wants_certainty,
                "also cross-validate against RRF and train on samples of the queries, and keep in the model "
                "how sure it is and each list's weight; 25 more trainings");
  add_calibration(verb, arguments);
  add_list_choice(verb, arguments);
  add_validation(verb, arguments);
  add_interruption(verb, arguments);
  add_start(verb, arguments);
  add_memory(verb, arguments);
  add_store_input(verb, arguments);
  show_rarely(verb, "More about training",
              {"--trace", "--trace-every", "--no-calibrate", "--reliability-plot", "--patience",
               "--memory-limit", "--temporary", "--checkpoint", "--checkpoint-every", "--resume",
               "--half-life", "--use-held-out", "--weight", "--only", "--calibrate-judge"});
  verb.footer(kExamples);
}

}  // namespace metafuse::cli
