#include "cli/train_options.h"

#include "cli/number_checks.h"

namespace metafuse::cli {
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
    "  metafuse train --learner oap-bpm --letor S1.txt S2.txt --passes 5 --model m.json\n"
    "  metafuse train --store state/metafuse.db --domain ml-homepages --model models/ml-homepages.json\n"
    "  tail -f judged.txt | metafuse train --learner oap-bpm --stream --resume m.json --model m.json";

void add_validation(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* validate = verb.add_option(
      "--validate", arguments.validate,
      "stop early: files of the training input's kind, or beside --runs the qrels of other queries; "
      "the best number of rounds is kept");
  verb.add_option("--metric", arguments.metric, "with --validate: the measure, as evaluate names it")
      ->default_str(std::string(kTrainMetric))
      ->needs(validate);
  verb.add_option("--patience", arguments.patience,
                  "with --validate: rounds without a better value after which to stop, 0 for never")
      ->default_str(std::to_string(kTrainPatience))
      ->needs(validate);
}

void add_interruption(CLI::App& verb, TrainArguments& arguments) {
  verb.add_option("--time-limit", arguments.time_limit, "stop after so many seconds, 0 for never")
      ->check(at_least_zero())
      ->capture_default_str();
  CLI::Option* checkpoint = verb.add_option("--checkpoint", arguments.checkpoint,
                                            "a file to go on from when training is interrupted");
  verb.add_option("--checkpoint-every", arguments.checkpoint_every, "rounds between two checkpoints")
      ->check(above_zero())
      ->capture_default_str()
      ->needs(checkpoint);
  verb.add_option(
      "--resume", arguments.resume,
      "a checkpoint to go on from; of an online learner: a model. The result is the same as without "
      "the interruption");
}

void add_stream_input(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* stream = verb.add_flag(
      "--stream", arguments.is_stream,
      "online learners: LETOR lines on standard input; each is predicted (grade TAB score on standard "
      "output), then learned from; the model is written at the end");
  verb.add_option("--bad-lines", arguments.bad_lines, "of --stream: skip (and report) or fail")
      ->check(CLI::IsMember({"skip", "fail"}))
      ->capture_default_str()
      ->needs(stream);
}

void add_store_input(CLI::App& verb, TrainArguments& arguments) {
  CLI::Option* store = verb.add_option(
      "--store", arguments.store, "judgments and clicks of a server: its SQLite file or postgresql://...");
  verb.add_option("--domain", arguments.domain, "of --store: the domain to learn for")->needs(store);
  verb.add_option("--half-life", arguments.half_life_days, "of --store: days after which a click counts half")
      ->check(above_zero())
      ->capture_default_str()
      ->needs(store);
  verb.add_flag("--use-held-out", arguments.are_held_out_used,
                "of --store: also learn from the judged queries on which promotions are measured")
      ->needs(store);
}

}  // namespace

void add_train_options(CLI::App& verb, TrainArguments& arguments) {
  add_training_options(verb, arguments.input);
  add_learner_options(verb, arguments.learner);
  verb.add_option("--model", arguments.model, "the model file to write")->required();
  verb.add_option("--trace", arguments.trace, "one JSON object a round");
  verb.add_option(
          "--threads", arguments.threads,
          "threads to use, 0 for one a core (under mpirun one a rank); the model is the same for any number")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb.add_option("--seed", arguments.seed, "seed of everything drawn at random")->capture_default_str();
  add_validation(verb, arguments);
  add_interruption(verb, arguments);
  add_stream_input(verb, arguments);
  add_store_input(verb, arguments);
  verb.footer(kExamples);
}

}  // namespace metafuse::cli
